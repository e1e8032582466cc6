// SPDX-License-Identifier: BSD-3-Clause
// Where ranks run, as users of other launchers say it.
#include <algorithm>

#include "launcher/foreign_options.hpp"
#include "launcher/placement.hpp"
#include "launcher/topology.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

// A word behind what --map-by says, or one that says it.
void map_also(Parse& p, std::string_view word) {
  if (p.run.map_by.empty()) p.run.map_by = "slot";
  p.run.map_by += fmt::format(":{}", word);
}

Error take_per_part(Parse& p, std::string_view value, std::string_view part) {
  const auto count = whole(value, 1);
  if (!count) return bad_value(p, value, fmt::format("a number of ranks for each {}", part));
  // What stood behind a mapping before, such as pe=2, still holds.
  const size_t colon = p.run.map_by.find(':');
  const std::string rest = p.run.map_by.starts_with("slot:") ? p.run.map_by.substr(colon) : "";
  p.run.map_by = fmt::format("ppr:{}:{}{}", *count, part, rest);
  return {};
}
Error take_per_socket(Parse& p, std::string_view value) {
  return take_per_part(p, value, "socket");
}
Error take_per_core(Parse& p, std::string_view value) {
  return take_per_part(p, value, "core");
}
Error take_per_node(Parse& p, std::string_view value) {
  return take_per_part(p, value, "node");
}

Error take_cores(Parse& p, std::string_view value) {
  const auto count = whole(value, 1);
  if (!count) return bad_value(p, value, "a number of cores for each rank");
  map_also(p, fmt::format("pe={}", *count));
  return {};
}

Error take_gpus(Parse& p, std::string_view value) {
  const auto count = whole(value, 1);
  if (!count || *count > 1024) return bad_value(p, value, "a number of GPUs for each rank");
  p.run.gpus_per_rank = *count;
  return {};
}

}  // namespace

std::vector<Option> placement_options() {
  return {
      {{"N", "npernode", "ppn", "perhost", "ntasks-per-node", "ranks-per-node"},
       "N",
       "this many ranks on each node",
       take_per_node,
       "OMS",
       "ranks on each node, as --map-by ppr:N:node (Slurm's -N counts nodes: --host names them "
       "here)",
       "2"},
      {{"npersocket", "ntasks-per-socket"},
       "N",
       "",
       take_per_socket,
       "OS",
       "ranks on each socket, as --map-by ppr:N:socket",
       "2"},
      {{"ntasks-per-core"}, "N", "", take_per_core, "S", "ranks on each core, as --map-by ppr:N:core", "1"},
      {{"cpus-per-rank", "cpus-per-proc", "cpus-per-task"},
       "N",
       "cores for each rank",
       take_cores,
       "OS",
       "cores for each rank, as --map-by slot:pe=N",
       "1"},
      {{"gpus-per-rank", "gpus-per-task"},
       "N",
       "give each rank N of its node's GPUs (CUDA_VISIBLE_DEVICES and the like)",
       take_gpus,
       "TS",
       "",
       "1"},
      {{"rr"},
       "",
       "",
       [](Parse& p, std::string_view) { return p.run.map_by = "node", Error(); },
       "M",
       "takes the nodes in turn, as --map-by node"},
      {{"bynode"},
       "",
       "",
       [](Parse& p, std::string_view) { return p.run.map_by = "node", Error(); },
       "O",
       "as --map-by node"},
      {{"byslot"},
       "",
       "",
       [](Parse& p, std::string_view) { return p.run.map_by = "slot", Error(); },
       "O",
       "as --map-by slot"},
      {{"bind-to-core"},
       "",
       "",
       [](Parse& p, std::string_view) { return p.run.bind_to = "core", Error(); },
       "O",
       "as --bind-to core"},
      {{"bind-to-none"},
       "",
       "",
       [](Parse& p, std::string_view) { return p.run.bind_to = "none", Error(); },
       "O",
       "as --bind-to none"},
      {{"rank-by"},
       "HOW",
       "number the ranks by slot, node, fill, span, core, l3cache, numa or socket",
       [](Parse& p, std::string_view v) {
         MapPolicy policy;
         if (Error e = take_rank_by(v, policy)) return e;
         return p.run.rank_by = v, Error();
       },
       "O",
       "how ranks are numbered once they have their places: slot, node after node; node, in turns over the nodes; "
       "fill, part after part of what --map-by names; span, in turns over these parts of all nodes; socket, numa, "
       "l3cache or core, in turns over those of each node; default: as they are placed",
       "slot"},
      {{"rankfile", "rf"},
       "FILE",
       "place each rank as a line 'rank 0=node1 slot=0-3' says",
       [](Parse& p, std::string_view v) {
         p.run.rankfile = v;
         return p.run.map_by = "rankfile", Error();
       },
       "O",
       "lines 'rank N=HOST slot=CORES', CORES as 0,2-3, or 1:0-1 for those of a socket; without slot= the rank is not "
       "bound; +n0 is the first host of the allocation",
       "f"},
      {{"cpu-list", "cpu-set"},
       "LIST",
       "use these processors of each node alone, such as 0,2-5",
       [](Parse& p, std::string_view v) {
         Result<std::vector<int>> right = processors_named(std::string(v));
         if (!right) return bad_value(p, v, "numbers of processors such as 0,2-5");
         return p.run.processors = v, Error();
       },
       "O",
       "the processors of each node that are used, as taskset -c counts them",
       "0"},
      {{"use-hwthread-cpus"},
       "",
       "count hardware threads in place of cores, and bind to them",
       [](Parse& p, std::string_view) { return p.run.hwthreads = true, Error(); },
       "O"},
      {{"oversubscribe"},
       "",
       "",
       accepted,
       "O",
       "accepted: more ranks than slots are allowed in any case"},
      {{"nooversubscribe"},
       "",
       "refuse more ranks than slots",
       [](Parse& p, std::string_view) { return p.run.nooversubscribe = true, Error(); },
       "O"},
      {{"hosts"},
       "NAME[:SLOTS],…",
       "",
       [](Parse& p, std::string_view v) {
         const Option* host = find_option("host");
         return host->take(p, v);
       },
       "M",
       "as --host",
       "localhost"},
      {{"nodelist", "w"},
       "NAMES",
       "",
       [](Parse& p, std::string_view v) {
         const Option* host = find_option("host");
         return host->take(p, v);
       },
       "S",
       "as --host, one name for each node and no brackets",
       "localhost"},
      {{"default-hostfile"}, "FILE", "", refused, "O", "type --hostfile FILE", "f"},
  };
}

}  // namespace tutti::launcher
