// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/run.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>

#include "base/config.hpp"
#include "base/log.hpp"
#include "base/process_sets.hpp"
#include "base/spawned.hpp"
#include "launcher/cleanup.hpp"
#include "launcher/daemons.hpp"
#include "launcher/debuggers.hpp"
#include "launcher/display.hpp"
#include "launcher/environment.hpp"
#include "launcher/hosts.hpp"
#include "launcher/inquiry.hpp"
#include "launcher/job.hpp"
#include "launcher/limits.hpp"
#include "launcher/node_agent.hpp"
#include "launcher/options.hpp"
#include "launcher/pmix_tools.hpp"
#include "launcher/preload.hpp"
#include "launcher/remote_node.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

constexpr int kUsageExitCode = 2;
// From the process that has spawned this job: its calls to MPI have all of it now. Whatever else it says is a farewell.
constexpr char kConnected = 'C';

bool is_spawned = false;  // by MPI_Comm_spawn, to which the exit code says whether fewer ranks may do

int refuse(const Error& error, int exit_code = kUsageExitCode) {
  say(Level::error, "{}", error.message());
  return exit_code;
}

std::string current_folder() {
  char* path = ::getcwd(nullptr, 0);
  std::string out = path ? path : "/";
  ::free(path);
  return out;
}

std::string host_name() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

App app_of(const AppOptions& options) {
  App app;
  app.command = options.command;
  app.folder = options.folder.empty() ? current_folder() : options.folder;
  if (!app.folder.starts_with('/')) app.folder = current_folder() + "/" + app.folder;
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

struct LaunchPlan {
  RunOptions options;
  Config config;
  Allocation allocation;
  MapPolicy policy;
  BindTo bind_to;
};

Result<LaunchPlan> make_plan(RunOptions options) {
  Result<Config> config = Config::load(options.settings);
  if (!config) return std::move(config).error();
  set_log_level(static_cast<Level>(config->value("log.level").number));
  for (const std::string& note : options.notes) say(Level::note, "{}", note);
  const bool by_option = !options.map_by.empty();
  Result<Allocation> allocation = allocate(options);
  if (!allocation) return std::move(allocation).error();
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
  if (policy->inside == MapPolicy::Inside::gpu && options.gpus_per_rank == 0) options.gpus_per_rank = 1;
  return LaunchPlan{std::move(options), std::move(*config), std::move(*allocation), *policy, *bind_to};
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
  const std::pair<std::string, std::string> variables[] = {
      {kProcessSetsVariable, sets},
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
    slots.push_back(task.map.slots.back() *
                    (plan.policy.cores_given ? host.cores_per_rank.value_or(1) : 1));
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
  if (Error e = put_options_of_mpi(plan, task.map, task.environment))
    return e;
  // Where the jobs that this one spawns may run.
  if (plan.allocation.hosts.size() > 1 || !plan.allocation.hosts.front().own) {
    task.allocation = task.map.nodes;
    task.allocation_slots = task.map.slots;
  }
  task.policy = plan.policy;
  task.bind_to = plan.bind_to;
  task.report_bindings = plan.options.report_bindings;
  task.pmix_ranks = static_cast<int>(plan.config.number("launch.pmix_ranks"));
  task.foreign_mpi = plan.config.flag("launch.foreign_mpi");
  task.kill_grace = plan.config.duration("launch.kill_grace");
  return task;
}

// What a rank is given by --map-by must be there; how many such ranks there are is told.
Error check_cores(const NodeTask& task, const std::vector<NodeShape>& shapes) {
  const int each = task.policy.cores_per_rank;
  std::vector<int> cores;
  for (const NodeShape& shape : shapes) cores.push_back(cores_of(shape, task.policy));
  const std::vector<int> counts = task.map.ranks.counts(task.map.nodes.size());
  for (size_t n = 0; n < task.map.nodes.size(); ++n) {
    const int64_t ranks = counts[n];
    if (ranks == 0) continue;
    const auto cores_text = [](int count) {
      return fmt::format("{} {}", count, count == 1 ? "core" : "cores");
    };
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
    say(Level::note, "{} ranks{} share {} on {}{}", ranks,
        each == 1 ? "" : fmt::format(" of {} each", cores_text(each)), cores_text(cores[n]),
        task.map.nodes[n],
        each > 1 && task.bind_to == BindTo::automatic ? ", and are not bound" : "");
    break;  // once is enough
  }
  return {};
}

// One job from the first process to the last: the parts in the order in which they need each other.
class Run {
 public:
  Run(const LaunchPlan& plan, Cleanup& cleanup, std::string job_id)
      : plan_(plan),
        cleanup_(cleanup),
        job_id_(std::move(job_id)),
        reaper_(loop_),
        job_(loop_,
             {plan.options.output, plan.options.timeout,
              plan.config.duration("launch.kill_grace"), [this](int node) { give_up(node); }}),
        inquiries_(loop_, job_id_,
                   [this](const std::vector<int>& records_of, Inquiries::Answer answer) {
                     job_.look(records_of, std::move(answer));
                   }) {}

  int operator()(int parent) {
    if (parent >= 0) watch_parent(parent);
    const std::vector<Host>& hosts = plan_.allocation.hosts;
    shapes_.assign(hosts.size(), {});
    const bool others = std::ranges::any_of(hosts, [](const Host& h) { return !h.own; });
    if (others) {
      if (Error e = start_daemons()) return refuse(e, 1);
    }
    if (Error e = prepare_own_node()) return refuse(e, 1);
    if (!others) loop_.post([this] { launch(); });
    loop_.run();
    if (daemons_) {
      say(Level::debug, "between mpirun and daemons, and between daemons: {}", daemons_->traffic().text());
      daemons_->dismiss_all(job_.is_hasty(), [this] { loop_.stop(); });
      loop_.run();
    }
    return job_.exit_code();
  }

 private:
  // The process that has spawned this job: its end is the job's, unless it says before that it has parted.
  void watch_parent(int socket) {
    parent_ = loop_.readable(socket, [this, socket] {
      char word = 0;
      const bool end = ::recv(socket, &word, 1, MSG_DONTWAIT) <= 0;
      tell_errors_to(-1);
      if (!end && word == kConnected) return;
      parent_.reset();
      // Why it is gone its own launcher says, or the shell: one event has one sentence.
      if (end) job_.fail(1, "");
    });
  }

  Error start_daemons() {
    const Config& config = plan_.config;
    daemons_ = std::make_unique<Daemons>(
        loop_, reaper_, cleanup_,
        Daemons::Options{job_id_, remote_shell(), by_srun(),
                         config.duration("launch.connect_timeout"),
                         config.duration("launch.node_timeout"),
                         static_cast<int>(config.number("launch.fan_out"))},
        Daemons::Events{[this] { launch(); },
                        [this](int host, LinkEnd how, const std::string& sentence) {
                          lost(host, how, sentence);
                        },
                        [this](int host, Message type, std::string_view payload) {
                          return hear(host, type, payload);
                        },
                        [this] { return job_.is_ending(); }, nullptr, nullptr});
    return daemons_->start(plan_.allocation.hosts);
  }

  // Whoever sets a remote shell wants that one, whatever a scheduler could do.
  bool is_shell_set() const { return plan_.config.value("launch.rsh").origin != "default"; }

  std::string remote_shell() const {
    const std::string& own = plan_.allocation.remote_shell;
    const char* search = ::getenv("PATH");
    const bool is_there =
        !own.empty() && !find_program(own.substr(0, own.find(' ')), search ? search : "/usr/bin:/bin", "")
                             .path.empty();
    return is_there && !is_shell_set() ? own : std::string(plan_.config.text("launch.rsh"));
  }

  bool by_srun() const {
    if (!plan_.allocation.within_slurm || is_shell_set()) return false;
    const char* search = ::getenv("PATH");
    return !find_program("srun", search ? search : "/usr/bin:/bin", "").path.empty();
  }

  Error prepare_own_node() {
    const std::vector<Host>& hosts = plan_.allocation.hosts;
    const auto own = std::ranges::find_if(hosts, [](const Host& h) { return h.own; });
    if (own == hosts.end()) return {};
    // In turn: both libraries use the environment, and PMIx changes it.
    Result<Topology> topology = Topology::of_this_machine();
    if (!topology) return std::move(topology).error();
    if (!plan_.options.processors.empty()) {
      Result<std::vector<int>> chosen = processors_named(plan_.options.processors);
      if (!chosen) return std::move(chosen).error();
      topology->restrict_to(*chosen);
      if (topology->allowed().empty())
        return failure(MPI_ERR_ARG, "--cpu-set {}: {} has none of these processors, or we may use none of them",
                       plan_.options.processors, own->name);
    }
    Result<std::unique_ptr<PmixServer>> pmix =
        PmixServer::start(cleanup_.folder(), own->name, *topology, tools());
    if (!pmix) return std::move(pmix).error();
    pmix_ = std::move(*pmix);
    topology_ = std::make_unique<Topology>(std::move(*topology));
    shapes_[static_cast<size_t>(own - hosts.begin())] = topology_->shape();
    return {};
  }

  void launch() {
    if (job_.is_ending()) return;
    const std::vector<Host>& hosts = plan_.allocation.hosts;
    for (size_t h = 0; h < hosts.size(); ++h)
      if (!hosts[h].own) shapes_[h] = shape_of_other(static_cast<int>(h));
    Result<NodeTask> task = make_task(plan_, job_id_, shapes_);
    if (!task)
      return job_.fail(is_spawned && task.error().mpi_class() == MPI_ERR_SPAWN ? kTooFewSlotsExitCode : kUsageExitCode,
                       task.error().message());
    if (Error e = check_cores(*task, shapes_)) return job_.fail(kUsageExitCode, e.message());
    show(*task);
    if (plan_.options.dry_run) return loop_.stop();
    for (int host : drop_unused_nodes(task->map)) {
      node_of_host_[host] = static_cast<int>(node_of_host_.size());
      if (hosts[static_cast<size_t>(host)].own)
        job_.add_node(std::make_unique<NodeAgent>(loop_, reaper_, cleanup_, *topology_, *pmix_,
                                                  job_, node_of_host_[host]));
      else
        job_.add_node(remote_node(host));
    }
    for (size_t h = 0; h < hosts.size(); ++h)
      if (!hosts[h].own && !node_of_host_.contains(static_cast<int>(h)))
        daemons_->dismiss(static_cast<int>(h));
    if (Error e = send_files()) return job_.fail(kUsageExitCode, e.message());
    job_.launch(*task);
    if (plan_.options.stop_on_start)
      say(Level::note, "ranks wait in MPI_Init, each for its debugger; 'kill -CONT {}' lets all go on", ::getpid());
    if (plan_.options.gdb)
      debuggers_.emplace(loop_, job_id_, static_cast<int>(task->map.ranks.size()),
                         std::string(plan_.config.text("launch.rsh")), [this] { return job_.is_ending(); },
                         [this](Debuggers::Answer answer) { job_.look({}, std::move(answer)); });
  }

  // Tools of PMIx are served where they have something to do: ranks that wait for them.
  ToolServices* tools() {
    if (!plan_.options.stop_on_start) return nullptr;
    static ToolServices& services = *new ToolServices;  // PMIx's thread outlives everything
    services.loop = &loop_;
    services.look = [this](std::function<void(const JobView&)> then) { job_.look({}, std::move(then)); };
    services.release = [this] { job_.signal_ranks(SIGCONT); };
    return &services;
  }

  // A node says how much it has before it knows what --cpu-set leaves of that.
  NodeShape shape_of_other(int host) const {
    NodeShape out = daemons_->shape(host);
    if (plan_.options.processors.empty()) return out;
    const Result<std::vector<int>> chosen = processors_named(plan_.options.processors);
    const int most = chosen ? static_cast<int>(chosen->size()) : 1;
    for (int* count : {&out.cores, &out.threads, &out.sockets, &out.numas, &out.l3caches})
      *count = std::min(*count, most);
    return out;
  }

  // --preload-binary and --preload-files.
  Error send_files() {
    if (remote_nodes_.empty()) return {};
    std::vector<std::string> paths = plan_.options.preload_files;
    if (plan_.options.preload_programs)
      for (const AppOptions& app : plan_.options.apps) {
        const char* search = ::getenv("PATH");
        const std::string folder = app.folder.empty() ? current_folder() : app.folder;
        const Program program = find_program(app.command[0], search ? search : "/usr/bin:/bin", folder);
        if (program.path.empty()) return failure(MPI_ERR_FILE, "--preload-binary: {}", program.problem);
        if (!std::ranges::count(paths, program.path)) paths.push_back(program.path);
      }
    std::vector<Node*> nodes;
    for (const auto& [host, node] : remote_nodes_) nodes.push_back(node);
    for (const std::string& path : paths)
      if (Error e = send_file(path, nodes)) return e;
    return {};
  }

  // What --display and --dry-run print, before there is anything else.
  void show(const NodeTask& task) const {
    std::vector<std::string> what = plan_.options.display;
    if (plan_.options.dry_run && what.empty()) what = {"map", "bindings"};
    const bool parseable = plan_.options.parseable;
    const std::vector<Host>& hosts = plan_.allocation.hosts;
    const auto own = std::ranges::find_if(hosts, [](const Host& h) { return h.own; });
    const int node = own == hosts.end() ? -1 : static_cast<int>(own - hosts.begin());
    std::string text;
    for (const std::string& each : what) {
      if (each == "map") text += map_text(task.map, parseable);
      if (each == "allocation") text += allocation_text(task.map, parseable);
      if (each == "topology" && node >= 0) text += topology_text(own->name, *topology_, parseable);
      const auto ranks = node < 0 ? 0 : task.map.ranks.count_on(node);
      if (each == "bindings" && ranks > 0)
        text += bindings_text(task.map, node, *topology_, binding_here(task, node), parseable);
    }
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
  }

  // As the node will do it, but for what other jobs have until then. What is wrong with it the node will say.
  Topology::Binding binding_here(const NodeTask& task, int node) const {
    const std::vector<int> ranks = task.map.ranks_on(node);
    Topology::Binding out =
        topology_->bind(static_cast<int>(ranks.size()), task.bind_to, policy_on(task, node, *topology_));
    for (size_t i = 0; !task.rank_slots.empty() && i < ranks.size(); ++i) {
      const Result<std::vector<int>> cores = topology_->cores_named(task.rank_slots[static_cast<size_t>(ranks[i])]);
      out.processors[i] = cores ? *cores : std::vector<int>();
    }
    return out;
  }

  std::unique_ptr<Node> remote_node(int host) {
    auto node = std::make_unique<RemoteNode>(
        [this, host](Message type, const std::string& payload) { daemons_->tell(host, type, payload); });
    remote_nodes_[host] = node.get();
    return node;
  }

  Error hear(int host, Message type, std::string_view payload) {
    const auto node = remote_nodes_.find(host);
    if (node == remote_nodes_.end())
      return failure(MPI_ERR_OTHER, "{}", out_of_place(Talk::ready, type));
    return node->second->hear(type, payload, job_, node_of_host_.at(host));
  }

  // More nodes than the ranks fill: the others take no part. Returns the hosts that stay.
  static std::vector<int> drop_unused_nodes(JobMap& map) {
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

  void give_up(int node) {
    for (const auto& [host, index] : node_of_host_)
      if (index == node && remote_nodes_.contains(host)) daemons_->give_up(host);
  }

  void lost(int host, LinkEnd how, const std::string& sentence) {
    const auto node = node_of_host_.find(host);
    if (node == node_of_host_.end())
      job_.fail(1, sentence);
    else
      job_.lose_node(node->second, sentence, how == LinkEnd::silent);
  }

  const LaunchPlan& plan_;
  Cleanup& cleanup_;
  std::string job_id_;
  Loop loop_;
  Reaper reaper_;
  std::unique_ptr<Topology> topology_;
  std::unique_ptr<PmixServer> pmix_;
  std::unique_ptr<Daemons> daemons_;
  Job job_;
  Inquiries inquiries_;
  std::optional<Debuggers> debuggers_;
  Watch parent_;
  std::vector<NodeShape> shapes_;  // by host
  std::map<int, int> node_of_host_;
  std::map<int, RemoteNode*> remote_nodes_;  // by host; the job's
};

}  // namespace

namespace {

// Of a job that is spawned (MPI_Comm_spawn): the socket to the process that does so, or -1.
int parent_socket() {
  const char* given = ::getenv("TUTTI_PARENT_SOCKET");
  if (!given) return -1;
  const int socket = ::atoi(given);
  ::unsetenv("TUTTI_PARENT_SOCKET");
  is_spawned = true;
  ::fcntl(socket, F_SETFD, FD_CLOEXEC);
  tell_errors_to(socket);
  // The spawning rank is bound to its cores; the new job is not.
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) CPU_SET(cpu, &all);
  ::sched_setaffinity(0, sizeof all, &all);
  return socket;
}

}  // namespace

int run_command(std::string_view command, const std::vector<std::string>& arguments) {
  const int parent = parent_socket();
  Result<RunOptions> options = parse_run_options(arguments);
  if (!options) return refuse(options.error());
  if (options->help && !options->help_topic.empty()) {
    const std::optional<std::string> text = help_on(options->help_topic);
    if (!text)
      return refuse(failure(MPI_ERR_ARG, "--help {}: there is no such option or topic; '--help topics' and '--help options' list all",
                            options->help_topic));
    std::fputs(text->c_str(), stdout);
    return 0;
  }
  if (options->help || options->version) {
    std::fputs(options->help ? run_help(command).c_str() : "tutti " TUTTI_VERSION "\n", stdout);
    return 0;
  }
  Result<LaunchPlan> plan = make_plan(std::move(*options));
  if (!plan) return refuse(plan.error());
  if (plan->options.gdb)
    if (Error e = Debuggers::check()) return refuse(e);
  if (Error e = room_for_ourselves()) return refuse(e, 1);
  // Before anything starts a thread: the watchdog is a fork of this process.
  const std::string job_id = random_hex(6);
  Result<Cleanup> cleanup = Cleanup::arm(job_id, "launcher");
  if (!cleanup) return refuse(cleanup.error(), 1);
  return Run(*plan, *cleanup, job_id)(parent);
}

}  // namespace tutti::launcher
