// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/place/slurm.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "mpi.h"

namespace tutti::launcher {
namespace {

constexpr size_t kMostNodes = 100'000;

std::optional<int> number(std::string_view word) {
  int value = 0;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (word.empty() || problem != std::errc() || end != word.data() + word.size() || value < 0) return {};
  return value;
}

// Cuts at commas that stand in no bracket.
std::vector<std::string_view> parts_of(std::string_view list) {
  std::vector<std::string_view> out;
  size_t begin = 0;
  int depth = 0;
  for (size_t at = 0; at <= list.size(); ++at) {
    if (at < list.size() && list[at] == '[') ++depth;
    if (at < list.size() && list[at] == ']') --depth;
    if (at < list.size() && (list[at] != ',' || depth > 0)) continue;
    out.push_back(list.substr(begin, at - begin));
    begin = at + 1;
  }
  return out;
}

// "1-3" or "7" as texts of the width that is written.
bool expand_range(std::string_view range, std::vector<std::string>& out) {
  const size_t dash = std::min(range.find('-'), range.size());
  const std::string_view low_text = range.substr(0, dash);
  const auto low = number(low_text);
  const auto high = dash == range.size() ? low : number(range.substr(dash + 1));
  if (!low || !high || *high < *low || static_cast<size_t>(*high - *low) >= kMostNodes) return false;
  for (int i = *low; i <= *high; ++i) out.push_back(fmt::format("{:0{}}", i, static_cast<int>(low_text.size())));
  return true;
}

// One part, with any number of brackets: each multiplies the names so far.
bool expand_part(std::string_view part, std::vector<std::string>& out) {
  std::vector<std::string> names{""};
  while (!part.empty()) {
    const size_t open = std::min(part.find('['), part.size());
    for (std::string& name : names) name += part.substr(0, open);
    part.remove_prefix(open);
    if (part.empty()) break;
    const size_t close = part.find(']');
    if (close == part.npos) return false;
    std::vector<std::string> numbers;
    for (std::string_view range : parts_of(part.substr(1, close - 1)))
      if (!expand_range(range, numbers)) return false;
    part.remove_prefix(close + 1);
    if (names.size() * numbers.size() > kMostNodes) return false;
    std::vector<std::string> longer;
    for (const std::string& name : names)
      for (const std::string& each : numbers) longer.push_back(name + each);
    names = std::move(longer);
  }
  out.insert(out.end(), names.begin(), names.end());
  return true;
}

bool valid_name(const std::string& name) {
  return !name.empty() && name[0] != '-' &&
         std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '.' || c == '_'; });
}

}  // namespace

Result<std::vector<std::string>> expand_node_list(std::string_view list) {
  std::vector<std::string> out;
  bool right = true;
  for (std::string_view part : parts_of(list)) right = right && expand_part(part, out);
  if (!right || out.size() > kMostNodes || !std::ranges::all_of(out, valid_name))
    return failure(MPI_ERR_OTHER, "'{}' is not a list of nodes such as node[1-3,7]", list);
  return out;
}

Result<std::vector<int>> expand_counts(std::string_view counts) {
  std::vector<int> out;
  for (std::string_view part : parts_of(counts)) {
    const size_t open = std::min(part.find("(x"), part.size());
    const auto value = number(part.substr(0, open));
    auto times = std::optional(1);
    if (open < part.size())
      times = part.ends_with(')') ? number(part.substr(open + 2, part.size() - open - 3)) : std::nullopt;
    if (!value || *value < 1 || !times || out.size() + static_cast<size_t>(*times) > kMostNodes)
      return failure(MPI_ERR_OTHER, "'{}' is not a list of counts such as 2(x3),1", counts);
    out.insert(out.end(), static_cast<size_t>(*times), *value);
  }
  return out;
}

namespace {

// The environment, with the end that the names have for one component of a heterogeneous job
// ("_HET_GROUP_0").
struct Environment {
  const Variable& variable;
  std::string end{};

  std::string text(std::initializer_list<const char*> names) const {
    for (const char* name : names)
      if (const char* value = variable((name + end).c_str()); value && *value) return value;
    return {};
  }
  Error misread(Error e, const char* name) const {
    return std::move(e).within(
        fmt::format("this seems to be a Slurm allocation (unset SLURM_JOB_ID if it is none): {}{}", name, end));
  }
};

// How many tasks each node has. Inside of a step the number of tasks is the step's, the nodes are
// the job's: then processors count, as many for each task as were asked for.
Result<std::vector<int>> tasks_of(const Environment& environment, size_t nodes, std::optional<int> cores_per_task) {
  std::string strange;
  for (const char* name : {"SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE"}) {
    const std::string value = environment.text({name});
    if (value.empty()) continue;
    Result<std::vector<int>> read = expand_counts(value);
    if (!read) return environment.misread(std::move(read).error(), name);
    strange = read->size() == nodes ? "" : value;
    if (!strange.empty()) continue;
    if (std::string_view(name) != "SLURM_TASKS_PER_NODE")
      for (int& count : *read) count = std::max(1, count / cores_per_task.value_or(1));
    return read;
  }
  if (!strange.empty())
    return environment.misread(failure(MPI_ERR_OTHER, "'{}' is not for the {} nodes of '{}'", strange, nodes,
                                       environment.text({"SLURM_JOB_NODELIST", "SLURM_NODELIST"})),
                               "SLURM_TASKS_PER_NODE");
  return std::vector<int>(nodes, 1);
}

Error add_nodes(const Environment& environment, int het_group, std::vector<SlurmNode>& out) {
  Result<std::vector<std::string>> names = expand_node_list(environment.text({"SLURM_JOB_NODELIST", "SLURM_NODELIST"}));
  if (!names) return environment.misread(std::move(names).error(), "SLURM_JOB_NODELIST");
  std::optional<int> cores;
  if (const std::string value = environment.text({"SLURM_CPUS_PER_TASK"}); !value.empty()) {
    cores = number(value);
    if (!cores || *cores < 1)
      return environment.misread(failure(MPI_ERR_OTHER, "'{}' is not a number of processors", value),
                                 "SLURM_CPUS_PER_TASK");
  }
  Result<std::vector<int>> tasks = tasks_of(environment, names->size(), cores);
  if (!tasks) return std::move(tasks).error();
  for (size_t i = 0; i < names->size(); ++i) out.push_back({std::move((*names)[i]), (*tasks)[i], cores, het_group});
  return {};
}

}  // namespace

namespace {

// What salloc and sbatch were asked about the places of tasks. A step has its own answers to that, which were not meant
// for the ranks of an mpirun in it.
void take_wishes(const Environment& environment, SlurmAllocation& out) {
  const std::string step = environment.text({"SLURM_STEP_ID"});
  if (!step.empty() && step != "4294967291") return;  // the batch script's own, by its number
  std::string distribution = environment.text({"SLURM_DISTRIBUTION"});
  distribution = distribution.substr(0, distribution.find(','));  // behind it stand Pack and NoPack
  const size_t colon = std::min(distribution.find(':'), distribution.size());
  const std::string over_nodes = distribution.substr(0, colon);
  const std::string over_sockets = colon < distribution.size() ? distribution.substr(colon + 1) : "";
  const std::string hint = environment.text({"SLURM_HINT"});
  const std::string per_socket = environment.text({"SLURM_NTASKS_PER_SOCKET"});
  const std::string per_core = environment.text({"SLURM_NTASKS_PER_CORE"});
  if (number(per_socket).value_or(0) > 0)
    out.map_by = fmt::format("ppr:{}:socket", per_socket);
  else if (number(per_core).value_or(0) > 0 && hint != "nomultithread")
    out.map_by = fmt::format("ppr:{}:core", per_core);
  else if (over_nodes == "cyclic")
    out.map_by = "node";
  else if (hint == "memory_bound" || over_sockets == "cyclic" || over_sockets == "fcyclic")
    out.map_by = "socket";
  if (over_nodes.starts_with("plane") || over_nodes == "arbitrary")
    out.note = fmt::format(
        "SLURM_DISTRIBUTION={} is not followed: ranks go as without it, by default on all slots of one "
        "node after the other (--map-by slot); --map-by, --rank-by or a rankfile say otherwise",
        distribution);
  if (hint == "multithread") out.map_by += (out.map_by.empty() ? "slot" : "") + std::string(":hwtcpus");
}

}  // namespace

Result<std::optional<SlurmAllocation>> slurm_allocation(const Variable& variable) {
  const Environment whole{variable};
  SlurmAllocation out;
  out.job_id = whole.text({"SLURM_JOB_ID", "SLURM_JOBID"});
  // What the names without an end say is the first component's, in a heterogeneous job.
  const std::string size = whole.text({"SLURM_HET_SIZE"});
  const auto component = [&](int n) { return Environment{variable, fmt::format("_HET_GROUP_{}", n)}; };
  const bool is_het = !component(0).text({"SLURM_JOB_NODELIST"}).empty();
  if (out.job_id.empty() || (!is_het && whole.text({"SLURM_JOB_NODELIST", "SLURM_NODELIST"}).empty()))
    return std::optional<SlurmAllocation>();
  int n = 0;
  for (; is_het && !component(n).text({"SLURM_JOB_NODELIST"}).empty(); ++n)
    if (Error e = add_nodes(component(n), n, out.nodes)) return e;
  if (!size.empty() && number(size) != n)
    return whole.misread(failure(MPI_ERR_OTHER,
                                 "the job has {} components, and the nodes of {} are named "
                                 "(SLURM_JOB_NODELIST_HET_GROUP_0 and so on)",
                                 size, n),
                         "SLURM_HET_SIZE");
  if (!is_het)
    if (Error e = add_nodes(whole, -1, out.nodes)) return e;
  out.this_node = whole.text({"SLURMD_NODENAME"});
  if (!is_het) take_wishes(whole, out);
  return std::optional(std::move(out));
}

}  // namespace tutti::launcher
