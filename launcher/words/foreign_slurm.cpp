// SPDX-License-Identifier: BSD-3-Clause
// What srun's users say about time, places and programs, in its own words.
#include <algorithm>

#include "launcher/words/foreign_options.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

// "minutes", "minutes:seconds", "hours:minutes:seconds", "days-hours" and that with ":minutes" and ":seconds".
std::optional<int64_t> seconds_of(std::string_view text) {
  const size_t dash = text.find('-');
  const auto days = dash == text.npos ? std::optional(0) : whole(text.substr(0, dash), 0);
  std::string_view rest = dash == text.npos ? text : text.substr(dash + 1);
  std::vector<int64_t> numbers;
  for (bool more = true; more;) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    const auto number = whole(rest.substr(0, colon), 0);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
    more = colon < rest.size();
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  if (!days || numbers.size() > 3) return std::nullopt;
  // Without days one number is minutes, two are minutes and seconds; behind days the first is hours.
  if (dash == text.npos && numbers.size() < 3) numbers.insert(numbers.begin(), 0);
  numbers.resize(3, 0);
  return *days * int64_t{86'400} + numbers[0] * 3600 + numbers[1] * 60 + numbers[2];
}

Error take_time(Parse& p, std::string_view value) {
  p.run.timeout = {};
  p.run.timeout_by = fmt::format("{} {}", p.option, value);
  if (value == "UNLIMITED" || value == "INFINITE") return {};
  const std::optional<int64_t> seconds = seconds_of(value);
  if (!seconds || *seconds > 1'000'000'000)
    return bad_value(p, value, "minutes, minutes:seconds, hours:minutes:seconds or days-hours:minutes:seconds");
  return p.run.timeout = std::chrono::seconds(*seconds), Error();
}

Error take_hint(Parse& p, std::string_view value) {
  if (value == "memory_bound")
    return map_ranks_by(p, "socket");
  else if (value == "multithread")
    p.run.hwthreads = true;
  else if (value != "compute_bound" && value != "nomultithread")
    return bad_value(p, value, "compute_bound, memory_bound, multithread or nomultithread");
  return {};
}

// Over nodes, over the sockets of each; what else there may be does not move whole ranks.
Error take_distribution(Parse& p, std::string_view value) {
  const std::string_view words = value.substr(0, value.find(','));
  const size_t colon = std::min(words.find(':'), words.size());
  const std::string_view over_nodes = words.substr(0, colon);
  std::string_view over_sockets = words.substr(std::min(colon + 1, words.size()));
  over_sockets = over_sockets.substr(0, over_sockets.find(':'));
  if (over_nodes.starts_with("plane") || over_nodes == "arbitrary")
    return failure(MPI_ERR_ARG,
                   "{} {}: type --map-by ppr:N:node for blocks, or --rankfile FILE for any place of each rank",
                   p.option, value);
  constexpr std::string_view known[] = {"block", "cyclic", "*", ""};
  constexpr std::string_view known_inside[] = {"block", "cyclic", "fcyclic", "*", ""};
  if (!std::ranges::count(known, over_nodes) || !std::ranges::count(known_inside, over_sockets))
    return bad_value(p, value, "block or cyclic, and behind a colon block, cyclic or fcyclic for the sockets");
  return map_ranks_by(p, over_nodes == "cyclic" ? "node" : over_sockets.ends_with("cyclic") ? "socket" : "slot");
}

Error take_cpu_binding(Parse& p, std::string_view value) {
  constexpr std::pair<std::string_view, std::string_view> known[] = {
      {"none", "none"},        {"no", "none"},        {"boards", "none"},    {"off", "none"},   {"cores", "core"},
      {"core", "core"},        {"rank", "core"},      {"cpu", "core"},       {"depth", "core"}, {"thread", "hwthread"},
      {"threads", "hwthread"}, {"socket", "socket"},  {"sockets", "socket"}, {"ldoms", "numa"}, {"rank_ldom", "numa"},
      {"numa", "numa"},        {"numa_node", "numa"}, {"yes", "core"}};
  for (const std::string& word : parts(value, ',')) {
    if (word == "verbose" || word == "v") {
      p.run.report_bindings = true;
      continue;
    }
    if (word == "quiet" || word == "q") continue;
    const auto row = std::ranges::find(known, std::string_view(word), [](const auto& each) { return each.first; });
    if (row == std::end(known))
      return failure(
          MPI_ERR_ARG,
          "{} {}: '{}' is not one of none, threads, cores, sockets and ldoms; for lists of processors type --rankfile "
          "FILE, or --cpu-set LIST for those that all ranks of a node share",
          p.option, value, word);
    p.run.bind_to = row->second;
  }
  return {};
}

Error take_gpu_binding(Parse& p, std::string_view value) {
  if (value == "none") return {};
  const std::string_view number = value.substr(std::min(value.find(':') + 1, value.size()));
  if (value.starts_with("per_task:") || value == "single:1") return find_option("gpus-per-rank")->take(p, number);
  if (value.starts_with("single:"))
    return failure(
        MPI_ERR_ARG,
        "{} {}: is for ranks that share a GPU; type --map-by gpu, which gives each rank one and deals them out "
        "in turn, or single:1",
        p.option, value);
  return failure(MPI_ERR_ARG,
                 "{} {}: type --gpus-per-rank N, which gives each rank the GPUs near its cores, or --map-by gpu",
                 p.option, value);
}

Error take_threads_per_core(Parse& p, std::string_view value) {
  const auto count = whole(value, 1);
  if (!count) return bad_value(p, value, "a number of threads");
  return p.run.hwthreads = *count > 1, Error();
}

Error take_kill(Parse& p, std::string_view value) {
  if (value == "0") return failure(MPI_ERR_ARG, "{} 0 is not supported: a rank that fails ends the job", p.option);
  return value.empty() || value == "1" ? Error() : bad_value(p, value, "nothing, or 1");
}

}  // namespace

std::vector<Option> slurm_options() {
  // clang-format off
  return {
      {{"time", "t"},
       "TIME",
       "",
       take_time,
       "S",
       "as --timeout, in Slurm's way: minutes, minutes:seconds, hours:minutes:seconds, days-hours:minutes:seconds; 0 for none",
       "1:30:00"},
      {{"hint"},
       "WORD",
       "",
       take_hint,
       "S",
       "memory_bound as --map-by socket, multithread as --use-hwthread-cpus; compute_bound and nomultithread are so in any case",
       "compute_bound"},
      {{"distribution", "m"},
       "HOW",
       "",
       take_distribution,
       "S",
       "block as --map-by slot, cyclic as --map-by node, block:cyclic as --map-by socket",
       "block:cyclic"},
      {{"cpu-bind", "cpu_bind", "cc"},
       "WHAT",
       "",
       take_cpu_binding,
       "SA",
       "none, threads, cores, sockets or ldoms, as --bind-to none, hwthread, core, socket and numa; verbose as --report-bindings",
       "verbose,cores"},
      {{"gpu-bind"}, "HOW", "", take_gpu_binding, "S", "per_task:N as --gpus-per-rank N, single:1 as --gpus-per-rank 1; none", "single:1"},
      {{"threads-per-core"}, "N", "", take_threads_per_core, "S", "more than 1 as --use-hwthread-cpus", "1"},
      {{"multi-prog"},
       "",
       "",
       [](Parse& p, std::string_view) { return p.app.by_ranks = true, Error(); },
       "S",
       "the program is a file of lines 'RANKS program arguments', RANKS as 0-2,5 or '*' for all others; in arguments %t stands for "
       "the rank, %o for its place in the line"},
      {{"kill-on-bad-exit", "K"},
       "[0|1]",
       "",
       take_kill,
       "S",
       "accepted, but for 0: a rank that fails ends the job in any case",
       "1",
       0},
      {{"nodefile", "F"}, "FILE", "", [](Parse& p, std::string_view v) { return find_option("hostfile")->take(p, v); }, "S",
       "as --hostfile", "/dev/null"},
  };
  // clang-format on
}

}  // namespace tutti::launcher
