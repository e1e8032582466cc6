// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/launch_plan.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>

#include "base/log.hpp"
#include "base/process_sets.hpp"
#include "base/random.hpp"
#include "base/spawned.hpp"
#include "launcher/node/environment.hpp"
#include "launcher/node/spawn.hpp"
#include "launcher/place/topology.hpp"
#include "launcher/words/options.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

std::string host_name() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

App app_of(const AppOptions& options) {
  App app;
  app.command = options.command;
  const std::string below = options.folder.empty() ? "" : "/" + options.folder;
  app.folder = options.folder;
  if (!app.folder.starts_with('/')) {
    app.folder = current_folder() + below;
    app.real_folder = current_folder(false) + below;
  }
  for (const std::string& variable : options.variables) {
    if (variable.find('=') != variable.npos) {
      app.variables.push_back(variable);
    } else if (variable.ends_with('*')) {
      const std::vector<std::string> all = own_variables(variable);
      app.variables.insert(app.variables.end(), all.begin(), all.end());
    } else if (const char* value = ::getenv(variable.c_str())) {
      app.variables.push_back(variable + "=" + value);
    } else {
      say(Level::warning, "-x {}: the variable is not set here", variable);
    }
  }
  return app;
}

void put_if_absent(std::vector<std::string>& variables, const std::string& pair) {
  const std::string name = pair.substr(0, pair.find('=') + 1);
  if (std::ranges::none_of(variables, [&](const std::string& known) { return known.starts_with(name); }))
    variables.push_back(pair);
}

// "slurm://het-group/0:0-3;slurm://het-group/1:4", of those components that have ranks.
std::string sets_of_components(const Allocation& allocation, const JobMap& map) {
  std::map<int, std::vector<int>> ranks_of;
  for (size_t r = 0; r < map.ranks.size(); ++r)
    if (const int group = allocation.hosts[static_cast<size_t>(map.ranks[r].node)].het_group; group >= 0)
      ranks_of[group].push_back(static_cast<int>(r));
  std::string out;
  for (const auto& [group, ranks] : ranks_of)
    out += fmt::format("{}slurm://het-group/{}:{}", out.empty() ? "" : ";", group, ranks_as_text(ranks));
  return out;
}

// What the library of the ranks is to know. A launch inside another one does not inherit it.
// `map`: of the ranks, whose components of a heterogeneous job are sets, too.
Error put_options_of_mpi(const LaunchPlan& plan, const JobMap& map, std::vector<std::string>& environment) {
  const RunOptions& options = plan.options;
  const auto ranks = static_cast<int>(map.ranks.size());
  std::string sets = sets_of_components(plan.allocation, map);
  for (const std::string& set : options.process_sets) {
    if (!sets.empty()) sets += ';';
    sets += set;
  }
  if (const auto known = parse_process_sets(sets, ranks); !known)
    return failure(1, "--pset: {}", known.error().message());
  const std::pair<std::string, std::string> variables[] = {{kProcessSetsVariable, sets},
                                                           {kSocketRanksVariable, ""},
                                                           {kNodePlacesVariable, ""},
                                                           {kMemoryKindsVariable, options.memory_kinds},
                                                           {kInitialErrhandlerVariable, options.initial_errhandler}};
  for (const auto& each : variables) {
    const std::string name = each.first + "=";
    if (!each.second.empty())
      put_variable(environment, name + each.second);
    else
      std::erase_if(environment, [&](const std::string& pair) { return pair.starts_with(name); });
  }
  return {};
}

// OMP_NUM_THREADS as the ranks will have it: the cores of each, where no option says how ranks are
// bound. 0: it says nothing. Of nested levels ("4,2") the first counts.
int threads_of_ranks(const LaunchPlan& plan) {
  if (plan.bind_to != BindTo::automatic) return 0;
  const char* own = ::getenv("OMP_NUM_THREADS");
  std::string text = own ? own : "";
  for (const std::vector<std::string>* variables : {&plan.options.variables, &plan.options.apps[0].variables})
    for (const std::string& pair : *variables)
      if (pair.starts_with("OMP_NUM_THREADS=")) text = pair.substr(pair.find('=') + 1);
  const int threads = std::atoi(text.c_str());
  return threads > 1 && threads <= 100'000 ? threads : 0;
}

// What counts as a core of this node.
int cores_of(const NodeShape& shape, const MapPolicy& policy) {
  return policy.hwthreads ? shape.threads : shape.cores;
}

bool is_found(const std::string& program) {
  const char* search = ::getenv("PATH");
  return !find_program(program, search ? search : "/usr/bin:/bin", "").path.empty();
}

// Whether there still is the folder that ranks start in, or that a name of --wdir counts from.
Error check_current_folder(const RunOptions& options) {
  const auto is_own = [](const AppOptions& app) { return app.folder.starts_with('/'); };
  if (std::ranges::all_of(options.apps, is_own) || !current_folder().empty()) return {};
  return failure(
      MPI_ERR_FILE,
      "ranks would start in the current folder, whose name cannot be told: {}; --wdir /FOLDER chooses another",
      errno == ENOENT ? "it is gone" : std::strerror(errno));
}

// By which MPICH's and Open MPI's launchers are told what --timeout tells.
Error take_timeout_variable(RunOptions& options) {
  const char* const told = std::getenv("MPIEXEC_TIMEOUT");
  if (!told || !*told || !options.timeout_by.empty()) return {};
  const std::optional<std::chrono::nanoseconds> timeout = timeout_of(told);
  if (!timeout)
    return failure(MPI_ERR_ARG,
                   "MPIEXEC_TIMEOUT is '{}', which is no positive number of seconds; unset it, or use --timeout", told);
  options.timeout = *timeout;
  options.timeout_by = fmt::format("MPIEXEC_TIMEOUT {}", told);
  return {};
}

// --nolocal and --nodes: fewer hosts than there are.
Error leave_out_hosts(const RunOptions& options, Allocation& allocation) {
  if (!options.nodes && !options.other_nodes_only) return {};
  const char* const option = options.nodes ? "--nodes" : "--nolocal";
  if (!allocation.sequences.empty())
    return failure(MPI_ERR_ARG, "{} and --map-by {} both say which nodes ranks go to; leave one of them out", option,
                   options.map_by);
  const auto [least, most] = options.nodes.value_or(std::pair(1, std::numeric_limits<int>::max()));
  std::vector<Host> kept;
  std::vector<int> new_number(allocation.hosts.size(), -1);
  for (size_t h = 0; h < allocation.hosts.size(); ++h) {
    if ((options.other_nodes_only && allocation.hosts[h].own) || static_cast<int>(kept.size()) == most) continue;
    new_number[h] = static_cast<int>(kept.size());
    kept.push_back(allocation.hosts[h]);
  }
  if (kept.empty()) return failure(MPI_ERR_ARG, "--nolocal leaves no node; name others by --host or --hostfile");
  if (static_cast<int>(kept.size()) < least)
    return failure(MPI_ERR_ARG, "--nodes {}: the job has {} {}; name more by --host or --hostfile", least, kept.size(),
                   kept.size() == 1 ? "node" : "nodes");
  allocation.hosts = std::move(kept);
  for (size_t a = 0; a < allocation.app_hosts.size(); ++a) {
    std::vector<int> mine;
    for (const int host : allocation.app_hosts[a])
      if (const int number = new_number[static_cast<size_t>(host)]; number >= 0) mine.push_back(number);
    if (mine.empty()) return failure(MPI_ERR_ARG, "{} leaves no node for '{}'", option, options.apps[a].command[0]);
    allocation.app_hosts[a] = std::move(mine);
  }
  return {};
}

// --launcher fork, or a scheduler's name: whether other nodes are reached so.
Error check_start(const LaunchPlan& plan) {
  const std::string& wish = plan.options.start_by;
  const auto other = std::ranges::find_if(plan.allocation.hosts, [](const Host& host) { return !host.own; });
  if (wish.empty() || other == plan.allocation.hosts.end()) return {};
  if (wish.ends_with(" fork"))
    return failure(MPI_ERR_ARG,
                   "{} starts ranks on this machine alone, and the job has {}; leave out the one or the other", wish,
                   other->name);
  if (by_srun(plan) || !plan.allocation.remote_shell.empty()) return {};
  return failure(
      MPI_ERR_ARG,
      "{}: no allocation of a scheduler is seen that {} belongs to and whose way to it is used; leave it out to "
      "reach nodes by {}",
      wish, other->name, plan.config.text("launch.rsh"));
}

// Whoever sets a remote shell wants that one, whatever a scheduler could do.
bool is_shell_set(const LaunchPlan& plan) {
  return plan.config.value("launch.rsh").origin != "default";
}

}  // namespace

std::string current_folder(bool as_called) {
  struct stat named{}, here{};
  const char* const name = ::getenv("PWD");
  // As a shell judges the name that it is given. An automounter's folders have one that other nodes lack.
  const bool is_plain = name && *name == '/' && fmt::format("{}/", name).find("/./") == std::string::npos &&
                        fmt::format("{}/", name).find("/../") == std::string::npos;
  if (as_called && is_plain && ::stat(name, &named) == 0 && ::stat(".", &here) == 0 && named.st_dev == here.st_dev &&
      named.st_ino == here.st_ino)
    return name;
  char* path = ::getcwd(nullptr, 0);
  std::string out = path ? path : "";
  ::free(path);
  return out;
}

Result<LaunchPlan> make_plan(RunOptions options) {
  Result<Config> config = Config::load(options.settings);
  if (!config) return std::move(config).error();
  set_log_level(static_cast<Level>(config->value("log.level").number));
  for (const std::string& note : options.notes) say(Level::note, "{}", note);
  if (options.nodes && options.map_by.empty()) options.map_by = "slot";
  if (options.nodes && (options.map_by == "slot" || options.map_by.starts_with("slot:"))) options.map_by += ":span";
  const bool by_option = !options.map_by.empty();
  Result<Allocation> allocation = allocate(options);
  if (!allocation) return std::move(allocation).error();
  if (Error e = leave_out_hosts(options, *allocation)) return e;
  if (!by_option)
    options.map_by = config->value("launch.map_by").origin == "default" && !allocation->map_by.empty()
                         ? allocation->map_by
                         : config->text("launch.map_by");
  if (options.bind_to.empty()) options.bind_to = config->text("launch.bind_to");
  Result<MapPolicy> policy = parse_map_policy(options.map_by);
  if (!policy)
    return by_option ? std::move(policy).error()
                     : std::move(policy).error().within(config->value("launch.map_by").origin);
  if (options.nooversubscribe) policy->oversubscribe = false;
  if (options.hwthreads) policy->hwthreads = true;
  if (!options.rank_by.empty())
    if (Error e = take_rank_by(options.rank_by, *policy)) return e;
  Result<std::string> bound = take_bind_words(options.bind_to, *policy);
  if (!bound) return std::move(bound).error();
  Result<BindTo> bind_to = parse_bind_to(*bound);
  if (!bind_to) return std::move(bind_to).error();
  if (options.apps.size() > 1)
    for (const AppOptions& app : options.apps)
      if (!app.ranks && policy->by != MapPolicy::By::ppr && app.hosts.empty())
        return failure(1, "with several programs each needs its -n; '{}' has none", app.command[0]);
  if (Error e = check_current_folder(options)) return e;
  if (Error e = take_timeout_variable(options)) return e;
  if (policy->inside == MapPolicy::Inside::gpu && options.gpus_per_rank == 0) options.gpus_per_rank = 1;
  LaunchPlan plan{std::move(options), std::move(*config), std::move(*allocation), *policy, *bind_to};
  if (Error e = check_start(plan)) return e;
  return plan;
}

std::string remote_shell(const LaunchPlan& plan) {
  const std::string& own = plan.allocation.remote_shell;
  const bool is_there = !own.empty() && is_found(own.substr(0, own.find(' ')));
  return is_there && !is_shell_set(plan) ? own : std::string(plan.config.text("launch.rsh"));
}

bool by_srun(const LaunchPlan& plan) {
  return plan.allocation.within_slurm && !is_shell_set(plan) && is_found("srun");
}

NodeShape shape_within(const LaunchPlan& plan, NodeShape shape) {
  if (plan.options.processors.empty()) return shape;
  const Result<std::vector<int>> chosen = processors_named(plan.options.processors);
  const int most = chosen ? static_cast<int>(chosen->size()) : 1;
  for (int* count : {&shape.cores, &shape.threads, &shape.sockets, &shape.numas, &shape.l3caches})
    *count = std::min(*count, most);
  return shape;
}

Result<NodeTask> make_task(const LaunchPlan& plan, const std::string& job_id,
                           const std::vector<NodeShape>& shapes_of_nodes) {
  NodeTask task;
  task.map.id = job_id;
  task.key = random_hex(16);
  std::vector<AppShape> shapes;
  for (size_t a = 0; a < plan.options.apps.size(); ++a) {
    task.map.apps.push_back(app_of(plan.options.apps[a]));
    for (const std::string& pair : plan.options.variables) put_if_absent(task.map.apps.back().variables, pair);
    shapes.push_back({plan.options.apps[a].ranks, plan.allocation.app_hosts[a]});
    if (a < plan.allocation.sequences.size()) shapes.back().sequence = plan.allocation.sequences[a];
  }
  std::vector<int> slots, most;
  for (size_t n = 0; n < plan.allocation.hosts.size(); ++n) {
    const Host& host = plan.allocation.hosts[n];
    most.push_back(host.max_slots.value_or(std::numeric_limits<int>::max()));
    task.map.nodes.push_back(host.name);
    task.map.slots.push_back(std::min(host.slots.value_or(cores_of(shapes_of_nodes[n], plan.policy)), most.back()));
    task.map.rank_cores.push_back(host.cores_per_rank.value_or(threads_of_ranks(plan)));
    // Slurm's slots have that many cores each: an option deals them out anew.
    slots.push_back(task.map.slots.back() * (plan.policy.cores_given ? host.cores_per_rank.value_or(1) : 1));
  }
  Result<Placement> placement = place(shapes, slots, plan.policy, most, shapes_of_nodes);
  if (!placement) return std::move(placement).error();
  task.map.ranks = placement->ranks;
  task.environment = job_environment(plan.config);
  inherit(task.environment, plan.options.inherit);
  task.input_rank = plan.options.input_rank.value_or(-1);
  if (task.input_rank >= static_cast<int>(task.map.ranks.size()))
    return failure(MPI_ERR_ARG, "--stdin {}: the job has {} ranks, the first is 0", task.input_rank,
                   task.map.ranks.size());
  task.gpus_per_rank = plan.options.gpus_per_rank;
  task.processors = plan.options.processors;
  task.rank_slots = plan.allocation.rank_slots;
  if (!task.rank_slots.empty()) task.rank_slots.resize(task.map.ranks.size());
  task.shares_cores = plan.config.flag("launch.share_cores");
  for (const std::string& file : plan.options.preload_files) task.files.push_back(file.substr(file.rfind('/') + 1));
  // Not in the jobs that this one spawns.
  std::erase_if(task.environment, [](const std::string& pair) { return pair.starts_with("TUTTI_STOP_ON_START="); });
  if (plan.options.stop_on_start) put_variable(task.environment, "TUTTI_STOP_ON_START=1");
  put_variable(task.environment, std::string(kLauncherVariable) + "=" + host_name());
  if (Error e = put_options_of_mpi(plan, task.map, task.environment)) return e;
  // Where the jobs that this one spawns may run, if anything is said of that: also how many slots the own machine has.
  const Host& first = plan.allocation.hosts.front();
  if (plan.allocation.hosts.size() > 1 || !first.own || first.slots) {
    task.allocation = task.map.nodes;
    task.allocation_slots = task.map.slots;
  }
  task.policy = plan.policy;
  task.bind_to = plan.bind_to;
  task.report_bindings = plan.options.report_bindings;
  task.pmix_ranks = static_cast<int>(plan.config.number("launch.pmix_ranks"));
  task.foreign_mpi = plan.config.flag("launch.foreign_mpi");
  task.rank_variables = plan.config.flag("launch.rank_variables");
  task.kill_grace = plan.config.duration("launch.kill_grace");
  return task;
}

bool tells_of_crowds(const LaunchPlan& plan) {
  const bool wanted = plan.options.oversubscribe || plan.options.map_by.find(":oversubscribe") != std::string::npos;
  return !wanted && (::isatty(STDERR_FILENO) || log_enabled(Level::debug));
}

Error check_cores(const NodeTask& task, const std::vector<NodeShape>& shapes, bool tells_of_crowds) {
  const int each = task.policy.cores_per_rank;
  std::vector<int> cores;
  for (const NodeShape& shape : shapes) cores.push_back(cores_of(shape, task.policy));
  const std::vector<int> counts = task.map.ranks.counts(task.map.nodes.size());
  for (size_t n = 0; n < task.map.nodes.size(); ++n) {
    const int64_t ranks = counts[n];
    if (ranks == 0) continue;
    const auto cores_text = [](int count) { return fmt::format("{} {}", count, count == 1 ? "core" : "cores"); };
    if (each > cores[n])
      return failure(MPI_ERR_ARG,
                     "--map-by gives each rank {} (pe={}), and {} has {} that we may use; give it "
                     "fewer, or use other nodes",
                     cores_text(each), each, task.map.nodes[n], cores_text(cores[n]));
    if (ranks * each <= cores[n]) continue;
    if (!task.policy.overload && task.bind_to != BindTo::none)
      return failure(MPI_ERR_ARG,
                     "--bind-to says no-overload, and {} ranks{} would share {} on {}; use fewer ranks or more nodes",
                     ranks, each == 1 ? "" : fmt::format(" of {} each", cores_text(each)), cores_text(cores[n]),
                     task.map.nodes[n]);
    // What was asked for and is not done is told in any case.
    const bool unbound = each > 1 && task.bind_to == BindTo::automatic;
    if (!tells_of_crowds && !unbound) continue;
    say(Level::note, "{} ranks{} share {} on {}{}", ranks,
        each == 1 ? "" : fmt::format(" of {} each", cores_text(each)), cores_text(cores[n]), task.map.nodes[n],
        unbound ? ", and are not bound" : "");
    break;  // once is enough
  }
  return {};
}

std::vector<int> drop_unused_nodes(JobMap& map) {
  std::vector<int> hosts, new_number(map.nodes.size(), -1);
  JobMap used = map;
  used.nodes.clear();
  used.slots.clear();
  used.rank_cores.clear();
  const std::vector<int> counts = map.ranks.counts(map.nodes.size());
  for (size_t n = 0; n < map.nodes.size(); ++n) {
    if (counts[n] == 0) continue;
    new_number[n] = static_cast<int>(hosts.size());
    hosts.push_back(static_cast<int>(n));
    used.nodes.push_back(map.nodes[n]);
    used.slots.push_back(map.slots[n]);
    used.rank_cores.push_back(map.rank_cores[n]);
  }
  used.ranks = map.ranks.renumbered(new_number);
  map = std::move(used);
  return hosts;
}

}  // namespace tutti::launcher
