// SPDX-License-Identifier: BSD-3-Clause
// Where ranks run, as users of other launchers say it.
#include <algorithm>

#include "launcher/place/placement.hpp"
#include "launcher/place/topology.hpp"
#include "launcher/words/foreign_options.hpp"
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
  return map_ranks_by(p, fmt::format("ppr:{}:{}", *count, part));
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

Error take_host_names(Parse& p, std::string_view value) {
  return find_option("host")->take(p, value);
}

// A number, or a range of numbers; names where it is none of these.
Error take_nodes(Parse& p, std::string_view value) {
  if (value.find_first_not_of("0123456789-") != value.npos) return take_host_names(p, value);
  const size_t dash = std::min(value.find('-'), value.size());
  const auto least = whole(value.substr(0, dash), 1);
  const auto most = dash == value.size() ? least : whole(value.substr(dash + 1), 1);
  if (!least || !most || *most < *least) return bad_value(p, value, "a number of nodes such as 2, or 2-4");
  return p.run.nodes = std::pair(*least, *most), Error();
}

Error take_gpus(Parse& p, std::string_view value) {
  const auto count = whole(value, 1);
  if (!count || *count > 1024) return bad_value(p, value, "a number of GPUs for each rank");
  p.run.gpus_per_rank = *count;
  return {};
}

}  // namespace

Error map_ranks_by(Parse& p, const std::string& word) {
  const std::string_view before = p.run.map_by;
  const std::string rest(before.starts_with("slot:") ? before.substr(before.find(':')) : "");
  return p.run.map_by = word + rest, Error();
}

std::vector<Option> placement_options() {
  // clang-format off
  return {
      {{"N", "npernode", "ppn", "perhost", "ntasks-per-node", "ranks-per-node", "grr"},
       "N",
       "this many ranks on each node",
       take_per_node,
       "OMS",
       "ranks on each node, as --map-by ppr:N:node (Slurm's -N counts nodes: that is --nodes here)",
       "2"},
      {{"pernode"}, "", "", [](Parse& p, std::string_view) { return take_per_node(p, "1"); }, "O", "one rank on each node, as -N 1"},
      {{"ppr"},
       "N:PART",
       "",
       [](Parse& p, std::string_view v) { return map_ranks_by(p, fmt::format("ppr:{}", v)); },
       "O",
       "as --map-by ppr:N:PART",
       "2:socket"},
      {{"nodes"},
       "N",
       "use so many nodes, and spread the ranks evenly over them",
       take_nodes,
       "S",
       "so many of the nodes, or A-B for at least A and at most B, over which the ranks are spread evenly; names are those of "
       "--host",
       "1"},
      {{"nolocal"},
       "",
       "start no rank on this machine",
       [](Parse& p, std::string_view) { return p.run.other_nodes_only = true, Error(); },
       "OM"},
      {{"npersocket", "ntasks-per-socket"},
       "N",
       "",
       take_per_socket,
       "OS",
       "ranks on each socket, as --map-by ppr:N:socket",
       "2"},
      {{"ntasks-per-core"}, "N", "", take_per_core, "S", "ranks on each core, as --map-by ppr:N:core", "1"},
      {{"cpus-per-rank", "cpus-per-proc", "cpus-per-task", "depth"},
       "N",
       "cores for each rank",
       take_cores,
       "OSA",
       "cores for each rank, as --map-by slot:pe=N",
       "1"},
      {{"gpus-per-rank", "gpus-per-task", "gpus-per-proc"},
       "N",
       "give each rank N of its node's GPUs (CUDA_VISIBLE_DEVICES and the like)",
       take_gpus,
       "TSM",
       "",
       "1"},
      {{"rr"},
       "",
       "",
       [](Parse& p, std::string_view) { return map_ranks_by(p, "node"); },
       "M",
       "takes the nodes in turn, as --map-by node"},
      {{"bynode"},
       "",
       "",
       [](Parse& p, std::string_view) { return map_ranks_by(p, "node"); },
       "O",
       "as --map-by node"},
      {{"byslot", "bycore"},
       "",
       "",
       [](Parse& p, std::string_view) { return map_ranks_by(p, "slot"); },
       "O",
       "as --map-by slot"},
      {{"bysocket"}, "", "", [](Parse& p, std::string_view) { return map_ranks_by(p, "socket"); }, "O", "as --map-by socket"},
      {{"loadbalance", "spread-job"},
       "",
       "",
       [](Parse& p, std::string_view) { return map_also(p, "span"), Error(); },
       "OS",
       "spreads the ranks evenly over the nodes, as --map-by slot:span"},
      {{"bind-to-core"},
       "",
       "",
       [](Parse& p, std::string_view) { return p.run.bind_to = "core", Error(); },
       "O",
       "as --bind-to core"},
      {{"bind-to-socket"},
       "",
       "",
       [](Parse& p, std::string_view) { return p.run.bind_to = "socket", Error(); },
       "O",
       "as --bind-to socket"},
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
      {{"cpu-list", "cpu-set", "slot-list"},
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
      {{"oversubscribe", "overcommit", "O"},
       "",
       "",
       [](Parse& p, std::string_view) { return p.run.oversubscribe = true, Error(); },
       "OS",
       "more ranks than slots are allowed in any case; nothing is said of them"},
      {{"nooversubscribe"},
       "",
       "refuse more ranks than slots",
       [](Parse& p, std::string_view) { return p.run.nooversubscribe = true, Error(); },
       "O"},
      {{"hosts", "hostlist", "hosts-group", "nodelist", "w"}, "NAME[:SLOTS],…", "", take_host_names, "MS", "as --host", "localhost"},
      {{"default-hostfile"}, "FILE", "", refused, "O", "type --hostfile FILE", "f"},
  };
  // clang-format on
}

}  // namespace tutti::launcher
