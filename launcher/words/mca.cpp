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

constexpr std::string_view kPorts = "give the ranks a range: -x UCX_TCP_PORT_RANGE=40000-40999";
constexpr std::string_view kDaemonPorts = "daemons take free ports, of those that net.ipv4.ip_local_port_range names";
constexpr std::string_view kMemory = "messages are of the main memory";

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
    {"orte_tmpdir_base", "", "TMPDIR says where the job's folder is made"},
    {"prte_tmpdir_base", "", "TMPDIR says where the job's folder is made"},
    {"btl_tcp_port_min_v4", "", kPorts},
    {"btl_tcp_port_range_v4", "", kPorts},
    {"oob_tcp_dynamic_ipv4_ports", "", kDaemonPorts},
    {"oob_tcp_static_ipv4_ports", "", kDaemonPorts},
    {"opal_cuda_support", "", kMemory},
    {"mpi_cuda_support", "", kMemory},
    {"mpi_leave_pinned", "", "UCX keeps what it has registered by itself"},
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
    if (known.setting == "launch.bind_to") return find_option("bind-to")->take(p, p.second);
    if (known.setting == "launch.map_by") return find_option("map-by")->take(p, p.second);
    if (!known.setting.empty())
      p.run.settings.push_back({std::string(known.setting), p.second, written});
    else
      p.run.notes.push_back(fmt::format("{} changes nothing: {}", written, known.here));
    return {};
  }
  // Those of a kind, which many components of Open MPI have.
  const std::string_view here =
      name.ends_with("_base_verbose")  ? "--verbose says what is done, and UCX_LOG_LEVEL=info what networks do"
      : name.ends_with("_eager_limit") ? "lengths at which messages go another way are chosen by themselves, and by UCX"
                                       : "it is a parameter of Open MPI; 'tutti info --config' lists the settings here";
  p.run.notes.push_back(fmt::format("{} {} {} changes nothing: {}", p.option, name, p.second, here));
  return {};
}

}  // namespace tutti::launcher
