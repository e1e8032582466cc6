// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/run.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>

#include "base/config.hpp"
#include "base/log.hpp"
#include "base/spawned.hpp"
#include "launcher/ask/commands.hpp"
#include "launcher/ask/inquiry.hpp"
#include "launcher/daemons/daemons.hpp"
#include "launcher/daemons/remote_node.hpp"
#include "launcher/debuggers.hpp"
#include "launcher/display.hpp"
#include "launcher/family/family.hpp"
#include "launcher/family/kin.hpp"
#include "launcher/family/kin_launcher.hpp"
#include "launcher/job.hpp"
#include "launcher/launch_plan.hpp"
#include "launcher/node/cleanup.hpp"
#include "launcher/node/limits.hpp"
#include "launcher/node/node_agent.hpp"
#include "launcher/pmix/pmix_tools.hpp"
#include "launcher/preload.hpp"
#include "launcher/profile/profile_output.hpp"
#include "launcher/profile/profile_page.hpp"
#include "launcher/words/options.hpp"
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

// One job from the first process to the last: the parts in the order in which they need each other.
class Run {
 public:
  Run(const LaunchPlan& plan, Cleanup& cleanup, std::string job_id)
      : plan_(plan),
        cleanup_(cleanup),
        job_id_(std::move(job_id)),
        reaper_(loop_),
        kin_([this](const std::string& word) { tell_kin(word); },
             {[this](uint64_t number, const Reply& reply) { job_.replied(number, reply); },
              [this](const std::string& key, int status, const std::string& data) { job_.met(key, status, data); },
              [this](uint64_t number, int rank) { job_.wanted(number, rank); },
              [this](const NodeTask& kin) { job_.learn(kin); }, [this] { welcomed(); },
              [this] {
                if (up_) tell_errors_to(-1);
              },
              // Why it is gone its own launcher says: one event has one sentence.
              [this](int exit_code) { job_.fail(exit_code, ""); }}),
        job_(loop_, {plan.options.output, plan.options.timeout, plan.config.duration("launch.kill_grace"),
                     plan.options.timeout_by, [this](int node) { give_up(node); },
                     [this] {
                       if (daemons_) daemons_->send_now();
                     },
                     plan.allocation.scheduler, &kin_, on_failure()}),
        inquiries_(loop_, job_id_, [this](const Question& question, Inquiries::Answer answer) {
          question.together ? job_.look_together(std::move(answer)) : job_.look(question.records_of, std::move(answer));
        }) {}

  int operator()(int parent, const std::string& spawned_by) {
    if (parent >= 0) watch_parent(parent);
    spawned_by_ = spawned_by;
    if (!spawned_by.empty()) watch_family();
    const std::vector<Host>& hosts = plan_.allocation.hosts;
    shapes_.assign(hosts.size(), {});
    const bool others = std::ranges::any_of(hosts, [](const Host& h) { return !h.own; });
    if (others) {
      if (Error e = start_daemons()) return refuse(e, 1);
    }
    if (Error e = prepare_own_node()) return refuse(e, 1);
    if (!others) loop_.post([this] { launch(); });
    loop_.run();
    if (family_) await_family();
    if (daemons_) {
      say(Level::debug, "between mpirun and daemons, and between daemons: {}", daemons_->traffic().text());
      daemons_->dismiss_all(job_.is_hasty(), [this] { loop_.stop(); });
      loop_.run();
    }
    if (task_ && plan_.config.flag("profile.page")) tell_profile();
    return job_.exit_code();
  }

 private:
  void tell_profile() {
    std::vector<RankProfile> profiles = job_.take_profiles();
    find_places(profiles);
    std::fputs(profile_page(profiles).c_str(), stderr);
    std::string file(plan_.config.text("profile.file"));
    if (file.empty()) return;
    // The file is that of the job that has spawned this one.
    if (const std::filesystem::path path = file; is_spawned || !spawned_by_.empty())
      file = path.parent_path() / fmt::format("{}-{}{}", path.stem().string(), job_id_, path.extension().string());
    if (Error e = write_profile(profiles, file))
      say(Level::error, "{}", e.message());
    else
      std::fputs(fmt::format("the profile is in {}\n", file).c_str(), stderr);
  }

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

  // As above, of a job that a client of PMIx has spawned.
  void watch_family() {
    up_ = std::make_unique<Link>(loop_, kKinFd, std::chrono::minutes(1));
    up_->expect_up_to(kLongestMessage);
    up_->attach({[this](Message type, std::string_view word) {
                   return type == Message::kin && kin_.hear(word) ? Error() : failure(MPI_ERR_OTHER, "no word of kin");
                 },
                 [this](LinkEnd, const std::string&) {
                   tell_errors_to(-1);
                   job_.fail(1, "");
                 }});
  }

  // To the family's first launcher: this one, unless it has been spawned. Not at once, for the job is about to do something.
  void tell_kin(const std::string& word) {
    if (up_) return up_->send_packed(Message::kin, word);
    if (!family_) {
      if (!Kin::is_question(word)) return;
      family_.emplace(loop_, reaper_,
                      [this](const std::string& back) { loop_.post([this, back] { kin_.hear(back); }); });
      Kin first([this](const std::string& own) { family_->hear_first(own); }, {});
      first.introduce(*task_);
      if (job_.is_ending()) first.failed(job_.exit_code());  // it has said so when nobody was there to hear it
    }
    loop_.post([this, word] { family_->hear_first(word); });
  }

  // The jobs that this one has spawned may take longer.
  void await_family() {
    family_->first_is_over();
    if (family_->is_alone()) return;
    family_->when_alone([this] { loop_.stop(); });
    loop_.run();
  }

  // A spawned job has heard of all that its ranks may talk to.
  void welcomed() {
    if (up_ && !job_.is_ending()) job_.launch(*task_);
  }

  // How often nodes say that they live; not at all where the failure of one ends the job.
  std::chrono::nanoseconds heartbeat() const {
    return on_failure() == OnFailure::end ? std::chrono::nanoseconds(0) : plan_.config.duration("failure.heartbeat");
  }

  OnFailure on_failure() const { return static_cast<OnFailure>(plan_.config.value("failure.action").number); }

  Error start_daemons() {
    const Config& config = plan_.config;
    daemons_ = std::make_unique<Daemons>(
        loop_, reaper_, cleanup_,
        Daemons::Options{job_id_, remote_shell(plan_), by_srun(plan_), config.duration("launch.connect_timeout"),
                         std::max(config.duration("launch.node_timeout"), Pace{heartbeat()}.suspicion()),
                         static_cast<int>(config.number("launch.fan_out")), heartbeat()},
        Daemons::Events{[this] { launch(); },
                        [this](int host, LinkEnd how, const std::string& sentence) { lost(host, how, sentence); },
                        [this](int host, Message type, std::string_view payload) { return hear(host, type, payload); },
                        [this] { return job_.is_ending(); }, nullptr, nullptr,
                        [this](int host, LinkEnd how, const std::string& why) { failed(host, how, why); }, nullptr,
                        nullptr, nullptr});
    return daemons_->start(plan_.allocation.hosts);
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
        PmixServer::start(cleanup_.folder(), own->name, *topology, tools(), on_failure() != OnFailure::end);
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
      if (!hosts[h].own) shapes_[h] = shape_within(plan_, daemons_->shape(static_cast<int>(h)));
    Result<NodeTask> task = make_task(plan_, job_id_, shapes_);
    if (!task)
      return job_.fail(is_spawned && task.error().mpi_class() == MPI_ERR_SPAWN ? kTooFewSlotsExitCode : kUsageExitCode,
                       task.error().message());
    if (Error e = check_cores(*task, shapes_, tells_of_crowds(plan_))) return job_.fail(kUsageExitCode, e.message());
    show(*task);
    if (plan_.options.dry_run) return loop_.stop();
    for (int host : drop_unused_nodes(task->map)) {
      node_of_host_[host] = static_cast<int>(node_of_host_.size());
      if (hosts[static_cast<size_t>(host)].own)
        job_.add_node(
            std::make_unique<NodeAgent>(loop_, reaper_, cleanup_, *topology_, *pmix_, job_, node_of_host_[host]));
      else
        job_.add_node(remote_node(host));
    }
    for (size_t h = 0; h < hosts.size(); ++h)
      if (!hosts[h].own && !node_of_host_.contains(static_cast<int>(h))) daemons_->dismiss(static_cast<int>(h));
    if (Error e = send_files()) return job_.fail(kUsageExitCode, e.message());
    if (daemons_) daemons_->heal();
    task->parent = spawned_by_;
    task_ = up_ ? *task : Kin::brief(*task);
    if (up_) return kin_.introduce(*task);
    job_.launch(*task);
    if (plan_.options.stop_on_start)
      say(Level::note, "ranks wait in MPI_Init, each for its debugger; 'kill -CONT {}' lets all go on", ::getpid());
    if (plan_.options.gdb)
      debuggers_.emplace(
          loop_, job_id_, static_cast<int>(task->map.ranks.size()), std::string(plan_.config.text("launch.rsh")),
          [this] { return job_.is_ending(); }, [this](Debuggers::Answer answer) { job_.look({}, std::move(answer)); });
  }

  // Tools of PMIx are served where they have something to do: ranks that wait for them.
  ToolServices* tools() {
    if (!plan_.options.stop_on_start) return nullptr;
    static ToolServices& services = *new ToolServices;  // PMIx's thread outlives everything
    assume_on_loop();
    {
      const Lock lock(services.mutex);
      services.loop = &loop_;
    }
    services.look = [this](std::function<void(const JobView&)> then) { job_.look({}, std::move(then)); };
    services.release = [this] { job_.signal_ranks(SIGCONT); };
    return &services;
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
        [this, host](Message type, const Parcel& payload) { daemons_->tell(host, type, payload); });
    remote_nodes_[host] = node.get();
    return node;
  }

  Error hear(int host, Message type, std::string_view payload) {
    const auto node = remote_nodes_.find(host);
    if (node == remote_nodes_.end()) return failure(MPI_ERR_OTHER, "{}", out_of_place(Talk::ready, type));
    return node->second->hear(type, payload, job_, node_of_host_.at(host));
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

  // Of a job that goes on without nodes that fail, if this is one that it has to do with.
  void failed(int host, LinkEnd how, const std::string& why) {
    const auto node = node_of_host_.find(host);
    if (node != node_of_host_.end()) job_.node_failed(node->second, why, how == LinkEnd::silent);
  }

  const LaunchPlan& plan_;
  Cleanup& cleanup_;
  std::string job_id_;
  Loop loop_;
  Reaper reaper_;
  Kin kin_;
  std::unique_ptr<Topology> topology_;
  std::unique_ptr<PmixServer> pmix_;
  std::unique_ptr<Daemons> daemons_;
  Job job_;
  Inquiries inquiries_;
  std::optional<Debuggers> debuggers_;
  Watch parent_;
  std::string spawned_by_;         // by PMIx: "namespace:rank"
  std::unique_ptr<Link> up_;       // to the launcher that has started this one for that; none: nobody has
  std::optional<NodeTask> task_;   // the job's; where this launcher has been started, launched once it is welcome
  std::optional<Family> family_;   // of which this launcher's job is the first
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

// Of a job that a client of PMIx has spawned: who. Nothing otherwise.
std::string taken_over_by_kin() {
  const char* const given = ::getenv(kSpawnedByVariable);
  if (!given) return "";
  std::string who = given;
  ::unsetenv(kSpawnedByVariable);
  for (const int fd : {kKinFd, kWordsFd}) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  tell_errors_to(kWordsFd);
  return who;
}

// --report-pid. The file is left to whoever has asked for it.
Error report_process_id(const std::string& where) {
  if (where.empty()) return {};
  const std::string line = fmt::format("{}\n", ::getpid());
  std::FILE* const file = where == "-" ? stdout : where == "+" ? stderr : std::fopen(where.c_str(), "we");
  const bool written = file && std::fputs(line.c_str(), file) >= 0 && std::fflush(file) == 0;
  const int problem = errno;
  if (file && file != stdout && file != stderr) std::fclose(file);
  return written ? Error()
                 : failure(MPI_ERR_FILE, "--report-pid {}: it cannot be written ({})", where, std::strerror(problem));
}

}  // namespace

int run_command(std::string_view command, const std::vector<std::string>& arguments) {
  const int parent = parent_socket();
  const std::string spawned_by = taken_over_by_kin();
  Result<RunOptions> options = parse_run_options(arguments);
  if (!options) return refuse(options.error());
  if (options->help && !options->help_topic.empty()) {
    const std::optional<std::string> text = help_on(options->help_topic);
    if (!text)
      return refuse(failure(
          MPI_ERR_ARG, "--help {}: there is no such option or topic; '--help topics' and '--help options' list all",
          options->help_topic));
    std::fputs(text->c_str(), stdout);
    return 0;
  }
  if (options->info) return info_command({});
  if (options->help || options->version) {
    std::fputs(options->help ? run_help(command).c_str() : "tutti " TUTTI_VERSION "\n", stdout);
    return 0;
  }
  Result<LaunchPlan> plan = make_plan(std::move(*options));
  if (!plan) return refuse(plan.error());
  if (plan->options.gdb)
    if (Error e = Debuggers::check()) return refuse(e);
  if (const std::string_view file = plan->config.text("profile.file"); !file.empty())
    if (Error e = check_profile_path(std::string(file))) return refuse(e);
  if (Error e = report_process_id(plan->options.process_id_file)) return refuse(e, 1);
  if (Error e = room_for_ourselves()) return refuse(e, 1);
  // Before anything starts a thread: the watchdog is a fork of this process.
  const std::string job_id = random_hex(6);
  Result<Cleanup> cleanup = Cleanup::arm(job_id, kLauncherLabel);
  if (!cleanup) return refuse(cleanup.error(), 1);
  return Run(*plan, *cleanup, job_id)(parent, spawned_by);
}

}  // namespace tutti::launcher
