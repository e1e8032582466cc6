// SPDX-License-Identifier: BSD-3-Clause
// --mca NAME VALUE of Open MPI: the parameters that scripts set most often, and what they mean here.
#include "base/log.hpp"
#include "launcher/words/option_table.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

struct Parameter {
  std::string_view name;
  std::string_view setting;  // of Tutti's that has the same values; empty: none
  std::string_view here;     // otherwise
};

constexpr Parameter kParameters[] = {
    {"plm_rsh_agent", "launch.rsh", ""},
    {"hwloc_base_binding_policy", "launch.bind_to", ""},
    {"rmaps_base_mapping_policy", "launch.map_by", ""},
    {"rmaps_default_mapping_policy", "launch.map_by", ""},
    {"btl", "", "transports are chosen by themselves; --set transport.ucx_tls=… narrows them"},
    {"pml", "", "there is one way of messages; --set transport.ucx_tls=… narrows its networks"},
    {"mtl", "", "networks are UCX's; --set transport.ucx_tls=… narrows them"},
    {"osc", "", "there is one implementation of windows"},
    {"io", "", "there is one implementation of files"},
    {"coll", "", "tutti-collectives(7) says how algorithms are chosen"},
    {"coll_tuned_use_dynamic_rules", "", "tutti-collectives(7) says how algorithms are chosen"},
    {"coll_hcoll_enable", "", "there is no hcoll"},
    {"mpi_yield_when_idle", "", "ranks that wait give up their cores where these are shared"},
    {"mpi_show_mca_params", "", "'tutti info --config' prints all settings"},
    {"opal_warn_on_missing_libcuda", "", "nothing is said of CUDA"},
    {"orte_base_help_aggregate", "", "a message of many ranks is told once"},
    {"btl_base_warn_component_unused", "", "nothing is said of networks that are not used"},
    {"oob_tcp_if_include", "", "daemons try all addresses of this machine"},
    {"btl_tcp_if_include", "", "give the ranks UCX_NET_DEVICES: -x UCX_NET_DEVICES=eth0"},
    {"btl_tcp_if_exclude", "", "give the ranks UCX_NET_DEVICES: -x UCX_NET_DEVICES=eth0"},
    {"btl_vader_single_copy_mechanism", "", "--set transport.cma=off does without CMA"},
    {"btl_openib_allow_ib", "", "networks are UCX's; UCX_TLS and UCX_NET_DEVICES narrow them"},
};

}  // namespace

Error take_mca(Parse& p, std::string_view name) {
  // 1 or true refuses nothing: more ranks than slots are allowed in any case.
  if (name == "rmaps_base_no_oversubscribe") {
    p.run.nooversubscribe = p.second == "1" || p.second == "true";
    return {};
  }
  if (name == "rmaps_base_oversubscribe") {
    p.run.oversubscribe = p.second == "1" || p.second == "true";
    return {};
  }
  for (const Parameter& known : kParameters) {
    if (known.name != name) continue;
    const std::string written = fmt::format("{} {} {}", p.option, name, p.second);
    if (known.setting == "launch.bind_to")
      p.run.bind_to = p.second;
    else if (known.setting == "launch.map_by")
      p.run.map_by = p.second;
    else if (!known.setting.empty())
      p.run.settings.push_back({std::string(known.setting), p.second, written});
    else
      p.run.notes.push_back(fmt::format("{} changes nothing: {}", written, known.here));
    return {};
  }
  p.run.notes.push_back(
      fmt::format("{} {} {} changes nothing: it is a parameter of Open MPI; 'tutti info --config' "
                  "lists the settings here",
                  p.option, name, p.second));
  return {};
}

}  // namespace tutti::launcher
