// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/place/schedulers.hpp"

#include <signal.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <sstream>

#include "base/file_text.hpp"
#include "base/printable.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

constexpr int kMostSlots = 100'000;
constexpr const char* kGridEngine = "Grid Engine";

using Nodes = std::vector<ScheduledNode>;

bool valid_name(std::string_view name) {
  return !name.empty() && name[0] != '-' &&
         std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '.' || c == '_'; });
}

std::optional<int> count_of(std::string_view word) {
  int value = 0;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (problem != std::errc() || end != word.data() + word.size() || value < 1 || value > kMostSlots)
    return std::nullopt;
  return value;
}

// A node that comes again, wherever, has so many slots more.
bool add(Nodes& nodes, const std::string& name, int slots) {
  if (!valid_name(name)) return false;
  for (ScheduledNode& known : nodes)
    if (known.name == name) return known.slots += slots, true;
  nodes.push_back({name, slots});
  return true;
}

// A name for each slot: PBS_NODEFILE, COBALT_NODEFILE, LSB_DJOB_HOSTFILE, LSB_HOSTS.
std::optional<Nodes> name_each(const std::string& text) {
  Nodes out;
  std::istringstream words(text);
  for (std::string word; words >> word;)
    if (!add(out, word, 1)) return std::nullopt;
  return out.empty() ? std::nullopt : std::optional(out);
}

// "nodeA 4 nodeB 2": LSB_MCPU_HOSTS.
std::optional<Nodes> name_and_count(const std::string& text) {
  Nodes out;
  std::istringstream words(text);
  std::string name, count;
  while (words >> name) {
    if (!(words >> count)) return std::nullopt;
    const auto slots = count_of(count);
    if (!slots || !add(out, name, *slots)) return std::nullopt;
  }
  return out.empty() ? std::nullopt : std::optional(out);
}

// "nodeA 4 all.q@nodeA UNDEFINED" a line: PE_HOSTFILE.
std::optional<Nodes> lines_of_queues(const std::string& text) {
  Nodes out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, count;
    if (!(words >> name)) continue;
    const auto slots = words >> count ? count_of(count) : std::nullopt;
    if (!slots || !add(out, name, *slots)) return std::nullopt;
  }
  return out.empty() ? std::nullopt : std::optional(out);
}

// Flux: "node[1-4]", whose cores nobody tells.
std::optional<Nodes> list_of_nodes(const std::string& text) {
  Result<std::vector<std::string>> names = expand_node_list(text.substr(0, text.find_first_of(" \r\n")));
  if (!names) return std::nullopt;
  Nodes out;
  for (std::string& name : *names) out.push_back({std::move(name), 0});
  return out.empty() ? std::nullopt : std::optional(out);
}

struct Source {
  const char* variable;
  bool is_file;
  std::optional<Nodes> (*read)(const std::string& text);
  const char* command = nullptr;  // where the variable is set, this prints what is to be read
};

struct Scheduler {
  const char* name;
  const char* job_variable;  // is set in each of its jobs
  const char* shell;
  std::vector<Source> sources;  // the first that is set counts
};

const std::vector<Scheduler>& schedulers() {
  static const std::vector<Scheduler> table{
      {"PBS", "PBS_JOBID", "", {{"PBS_NODEFILE", true, name_each}}},
      {"LSF",
       "LSB_JOBID",
       "blaunch",
       {{"LSB_DJOB_HOSTFILE", true, name_each},
        {"LSB_MCPU_HOSTS", false, name_and_count},
        {"LSB_HOSTS", false, name_each}}},
      {kGridEngine, "JOB_ID", "qrsh -inherit", {{"PE_HOSTFILE", true, lines_of_queues}}},
      {"Cobalt", "COBALT_JOBID", "", {{"COBALT_NODEFILE", true, name_each}}},
      // What runs in an instance of its own (flux alloc, flux batch) has this, and all nodes of the instance. A task of
      // flux run would be one of many mpiruns.
      {"Flux",
       "FLUX_ENCLOSING_ID",
       "flux exec -r %rank",
       {{"FLUX_URI", true, list_of_nodes, "|flux getattr hostlist"}}},
      {"Flux", "FLUX_JOB_ID", "", {}},
      {"OAR", "OAR_JOB_ID", "", {{"OAR_NODEFILE", true, name_each}}},
      {"Load Leveler", "LOADL_STEP_ID", "", {}},
      {"Fujitsu's job manager", "PJM_JOBID", "", {}},
  };
  return table;
}

// A job of Grid Engine without a parallel environment has no file of nodes: it is on one, with a slot.
std::optional<Nodes> own_node_alone(const Scheduler& scheduler, const std::string& slots, const std::string& host) {
  const auto count = count_of(slots);
  if (std::string_view(scheduler.name) != kGridEngine || !count) return std::nullopt;
  return Nodes{{valid_name(host) ? host : "localhost", *count}};
}

}  // namespace

std::string meaning_of_signal(std::string_view scheduler, int signal) {
  if (scheduler != kGridEngine) return {};
  if (signal == SIGUSR2)
    return "Grid Engine sends it before it kills a job (qsub -notify): by qdel, or since its time h_rt is up";
  if (signal == SIGUSR1)
    return "Grid Engine sends it before it stops a job (qsub -notify), and when its time s_rt is up";
  return {};
}

std::string why_shell_refuses(std::string_view shell, const std::string& node) {
  if (shell.starts_with("qrsh"))
    return fmt::format(
        "Grid Engine starts nothing on other nodes where a job's parallel environment is loose (qconf -sp NAME shows "
        "control_slaves FALSE). --set launch.rsh=ssh, or TUTTI_LAUNCH_RSH=ssh in the job's script, does without it; "
        "does "
        "'{} {} true' work here?",
        shell, node);
  for (const Scheduler& scheduler : schedulers())
    if (*scheduler.shell && shell == scheduler.shell)
      return fmt::format("does '{} {} true' work here? (--set launch.rsh=ssh does without it)", shell, node);
  return {};
}

std::optional<std::string> text_of_file(const std::string& name) {
  if (name.starts_with('|')) {
    FILE* pipe = ::popen((name.substr(1) + " 2>/dev/null").c_str(), "re");
    std::string out;
    char bytes[4096];
    for (size_t n = 0; pipe && (n = ::fread(bytes, 1, sizeof bytes, pipe)) > 0;) out.append(bytes, n);
    return pipe && ::pclose(pipe) == 0 && !out.empty() ? std::optional(out) : std::nullopt;
  }
  Result<std::string> text = text_of(name);
  return text ? std::optional(std::move(*text)) : std::nullopt;
}

Result<std::optional<ScheduledJob>> scheduled_job(const Variable& variable, const FileText& file,
                                                  std::string& warning) {
  const auto text = [&](const char* name) {
    const char* value = variable(name);
    return std::string(value ? value : "");
  };
  for (const Scheduler& scheduler : schedulers()) {
    const std::string id = text(scheduler.job_variable);
    // JOB_ID is a name that others may use, too: Grid Engine sets SGE_ROOT as well.
    if (id.empty() || (std::string_view(scheduler.job_variable) == "JOB_ID" && text("SGE_ROOT").empty() &&
                       text("PE_HOSTFILE").empty()))
      continue;
    for (const Source& source : scheduler.sources) {
      const std::string value = text(source.variable);
      if (value.empty()) continue;
      const std::optional<std::string> content =
          source.is_file ? file(source.command ? source.command : value) : std::optional(value);
      if (!content && source.command) break;
      if (!content)
        return failure(MPI_ERR_FILE,
                       "this seems to be job {} of {}, and the file of its nodes, {}, which {} "
                       "names, cannot be read (unset {} if it is none)",
                       id, scheduler.name, printable(value), source.variable, scheduler.job_variable);
      std::optional<Nodes> nodes = source.read(*content);
      if (!nodes)
        return failure(MPI_ERR_OTHER,
                       "this seems to be job {} of {}, and {} does not name its nodes in a way that "
                       "is understood: '{}' (unset {} if it is none; --hostfile names nodes, too)",
                       id, scheduler.name, source.variable, printable(content->substr(0, content->find('\n'))),
                       scheduler.job_variable);
      // LSF puts the node that submits first, with no slot of its own, only under some settings:
      // what it names is what there is.
      return std::optional(ScheduledJob{scheduler.name, id, std::move(*nodes), scheduler.shell});
    }
    if (std::optional<Nodes> own = own_node_alone(scheduler, text("NSLOTS"), text("HOSTNAME")))
      return std::optional(ScheduledJob{scheduler.name, id, std::move(*own), scheduler.shell});
    warning = fmt::format(
        "this seems to be job {} of {}, and nothing that is understood here says which nodes it "
        "has; "
        "ranks start on this node alone unless --host or --hostfile names more",
        id, scheduler.name);
    return std::optional<ScheduledJob>();
  }
  return std::optional<ScheduledJob>();
}

}  // namespace tutti::launcher
