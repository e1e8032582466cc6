// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/node/node_agent.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "base/address_key.hpp"
#include "base/handshake.hpp"
#include "base/log.hpp"
#include "base/process_sets.hpp"
#include "launcher/node/core_claims.hpp"
#include "launcher/node/environment.hpp"
#include "launcher/node/limits.hpp"
#include "launcher/node/look.hpp"
#include "launcher/place/gpus.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

constexpr auto kFinishTick = std::chrono::milliseconds(10);
constexpr auto kWatchdogGrace = std::chrono::seconds(3);
constexpr auto kLateStart = std::chrono::seconds(3);    // of a program, which is worth a word
constexpr auto kSlice = std::chrono::milliseconds(20);  // of starting, between two looks at events

// A longer list of nodes goes through a file: each rank would have a copy of it, and the kernel takes no variable
// and no argument of 128 KiB.
constexpr size_t kLongestVariable = 4 << 10;

// As --host takes it or, with a '/' in front, the hostfile that has it.
Result<std::string> allocation_text(const NodeTask& task, const std::string& folder) {
  std::string out;
  for (size_t n = 0; n < task.allocation.size(); ++n)
    out += fmt::format("{}{}:{}", n == 0 ? "" : ",", task.allocation[n], task.allocation_slots[n]);
  if (out.size() <= kLongestVariable) return out;
  const std::string path = folder + "/allocation";
  std::ofstream file(path);
  for (size_t n = 0; n < task.allocation.size(); ++n)
    file << task.allocation[n] << " slots=" << task.allocation_slots[n] << '\n';
  if (!file.flush())
    return failure(MPI_ERR_OTHER, "cannot write the list of the job's nodes to {}: {}", path, std::strerror(errno));
  return path;
}

}  // namespace

NodeAgent::NodeAgent(Loop& loop, Reaper& reaper, Cleanup& cleanup, const Topology& topology, PmixServer& pmix,
                     NodeEvents& job, int node)
    : loop_(loop), reaper_(reaper), cleanup_(cleanup), topology_(topology), pmix_(pmix), job_(job) {
  task_.node = node;  // it may have to finish what it never began
  reaper_.expect(cleanup_.watchdog(), [](int, int64_t) {});
  pmix_.attach(loop_, *this);
}

NodeAgent::~NodeAgent() {
  for (auto& [number, rank] : ranks_)
    for (Pipe& pipe : rank->streams)
      if (pipe.fd >= 0) ::close(pipe.fd);
  for (int fd : {failures_, starting_ ? starting_->failures : -1})
    if (fd >= 0) ::close(fd);
  for (const auto& input : inputs_)
    if (input->fd >= 0) ::close(input->fd);
  for (const std::string& file : placed_files_) ::unlink(file.c_str());
}

NodeAgent::Rank* NodeAgent::find(int rank) {
  const auto found = ranks_.find(rank);
  return found == ranks_.end() ? nullptr : found->second.get();
}

void NodeAgent::launch(NodeTask task) {
  TUTTI_INVARIANT(ranks_.empty() && !starting_, "a node launches its part of a job once");
  task_ = std::move(task);
  for (App& app : task_.map.apps) settle_folder(app);
  starting_.emplace().ranks = task_.map.ranks_on(task_.node);
  if (const std::optional<std::string> sentence = program_of_another_mpi()) return give_up_launch(126, *sentence);
  if (Error e = prepare_start()) return give_up_launch(1, e.message());
  if (starting_->ranks.empty()) return stop_starting();
  start_slice();
}

void NodeAgent::give_up_launch(int exit_code, const std::string& sentence) {
  launch_failed_ = true;
  job_.launch_failed(task_.node, exit_code, sentence);
  stop_starting();
}

void NodeAgent::stop_starting() {
  if (!starting_) return;
  const StartingRanks left = std::move(*starting_);
  starting_.reset();
  if (left.failures >= 0) ::close(left.failures);
  for (size_t i = left.next; i < left.ranks.size(); ++i) job_.rank_ended(task_.node, {.rank = left.ranks[i]});
}

Error NodeAgent::prepare_start() {
  StartingRanks& start = *starting_;
  const auto count = static_cast<int>(start.ranks.size());
  if (Error e = shortage(count, task_.map.nodes[static_cast<size_t>(task_.node)], room_on_this_node())) return e;
  memory_kills_.emplace();
  if (Error e = place_files()) return e;
  Result<std::string> allocation = allocation_text(task_, cleanup_.folder());
  if (!allocation) return std::move(allocation).error();
  allocation_ = *std::move(allocation);
  if (Error e = narrow_topology()) return e;
  if (Error e = bind_ranks()) return e;
  find_socket_ranks();
  if (task_.gpus_per_rank > 0) {
    start.gpus = topology().gpus().empty() ? gpus_of_this_machine() : topology().gpus();
    auto dealt = deal_gpus(start.gpus, start.binding.processors, task_.gpus_per_rank);
    if (!dealt) return std::move(dealt).error();
    start.rank_gpus = std::move(*dealt);
  }
  if (task_.report_bindings) report_bindings(start.ranks, start.binding);
  if (Error e = pmix_.register_job(task_, start.binding)) return e;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    const int problem = errno;
    return failure(MPI_ERR_OTHER, "cannot make a pipe: {}{}", std::strerror(problem), advice_on(problem));
  }
  failures_ = ends[0];
  start.failures = ends[1];
  failures_watch_ = loop_.readable(failures_, [this] { read_failures(); });
  return {};
}

// What --cpu-set leaves of the node, and the GPUs that ranks are to be near.
Error NodeAgent::narrow_topology() {
  const bool by_gpu = task_.policy.inside == MapPolicy::Inside::gpu;
  if (task_.processors.empty() && !by_gpu) return {};
  narrowed_.emplace(topology_.copy());
  const std::string& node = task_.map.nodes[static_cast<size_t>(task_.node)];
  if (!task_.processors.empty()) {
    Result<std::vector<int>> chosen = processors_named(task_.processors);
    if (!chosen) return std::move(chosen).error();
    narrowed_->restrict_to(*chosen);
    if (narrowed_->allowed().empty())
      return failure(MPI_ERR_ARG, "--cpu-set {}: {} has none of these processors, or we may use none of them",
                     task_.processors, node);
  }
  if (by_gpu) narrowed_->set_gpus(gpus_of_this_machine());
  if (by_gpu && narrowed_->gpus().empty())
    return failure(MPI_ERR_ARG, "--map-by gpu: {} has no GPUs that are seen (of NVIDIA and AMD)", node);
  return {};
}

Error NodeAgent::bind_ranks() {
  StartingRanks& start = *starting_;
  if (!task_.policy.near.empty())
    if (Result<std::vector<int>> near = processors_near(task_.policy.near); !near) return std::move(near).error();
  const auto count = static_cast<int>(start.ranks.size());
  const auto choose = [&](const Claims& claims) {
    // What a job takes at this moment may be anything: ranks are bound only where an option wants it.
    const bool may_clash = !claims.certain && task_.bind_to == BindTo::automatic;
    start.binding = topology().bind(count, task_.bind_to, policy_on(task_, task_.node, topology()),
                                    may_clash ? topology().allowed() : claims.taken);
    std::vector<int> all;
    for (const std::vector<int>& each : start.binding.processors) all.insert(all.end(), each.begin(), each.end());
    return all;
  };
  if (task_.shares_cores || task_.bind_to == BindTo::none || !task_.rank_slots.empty())
    choose({});
  else
    start.no_lock = claim_processors(task_.map.id, choose);
  for (size_t i = 0; !task_.rank_slots.empty() && i < start.ranks.size(); ++i) {
    const std::string& slots = task_.rank_slots[static_cast<size_t>(start.ranks[i])];
    start.binding.processors[i].clear();
    if (slots.empty()) continue;
    Result<std::vector<int>> cores = topology().cores_named(slots);
    if (!cores)
      return std::move(cores).error().within(
          fmt::format("rankfile: rank {} on {}", start.ranks[i], task_.map.nodes[static_cast<size_t>(task_.node)]));
    if (task_.bind_to != BindTo::none) start.binding.processors[i] = std::move(*cores);
  }
  return {};
}

void NodeAgent::find_socket_ranks() {
  StartingRanks& start = *starting_;
  std::map<int, std::vector<int>> ranks_on;
  std::vector<int> sockets;
  for (size_t i = 0; i < start.ranks.size(); ++i) {
    sockets.push_back(topology().socket_of(start.binding.processors[i]));
    if (sockets.back() >= 0) ranks_on[sockets.back()].push_back(start.ranks[i]);
  }
  std::map<int, std::string> texts;
  for (const auto& [socket, ranks] : ranks_on) texts[socket] = ranks_as_text(ranks);
  for (const int socket : sockets) start.socket_ranks.push_back(socket < 0 ? "" : texts[socket]);
  std::set<std::string> places;
  for (const std::vector<int>& processors : start.binding.processors) {
    const std::string place = topology_.place_of(processors);
    start.places += (start.places.empty() ? "" : ",") + place;
    places.insert(place);
  }
  if (places.size() < 2) start.places.clear();
}

void NodeAgent::start_slice() {
  const auto end = std::chrono::steady_clock::now() + kSlice;
  do {
    const int number = starting_->ranks[starting_->next];
    auto& rank = ranks_[number] = std::make_unique<Rank>();
    rank->rank = number;
    if (Error e = start_rank(*rank, starting_->binding.processors[starting_->next]))
      return give_up_launch(1, e.message());
    if (!starting_) return;  // the job has ended meanwhile
    if (++starting_->next == starting_->ranks.size()) {
      ::close(starting_->failures);
      starting_.reset();
      late_starts_ = loop_.after(kLateStart, [this] { tell_late_starts(); });
      return look_for_another_mpi();
    }
  } while (std::chrono::steady_clock::now() < end);
  starting_->next_slice = loop_.after(std::chrono::nanoseconds(0), [this] { start_slice(); });
}

void NodeAgent::report_bindings(const std::vector<int>& ranks, const Topology::Binding& binding) {
  for (size_t i = 0; i < ranks.size(); ++i)
    job_.note(task_.node,
              fmt::format("rank {} on {}: {}", ranks[i], task_.map.nodes[static_cast<size_t>(task_.node)],
                          binding.crowded ? "not bound: other jobs of yours have the cores, or choose theirs"
                                          : topology().describe(binding.processors[i])));
  if (starting_ && !starting_->no_lock.empty())
    job_.note(task_.node,
              fmt::format("on {} another job of yours that starts at this moment may choose the same cores: {}",
                          task_.map.nodes[static_cast<size_t>(task_.node)], starting_->no_lock));
}

Error NodeAgent::start_rank(Rank& rank, const std::vector<int>& processors) {
  const App& app = task_.map.apps[static_cast<size_t>(task_.map.ranks[static_cast<size_t>(rank.rank)].app)];
  Result<std::vector<std::string>> pmix = pmix_.variables_of(rank.rank);
  if (!pmix) return std::move(pmix).error();
  SpawnRequest request;
  request.command = app.command;
  request.environment = environment_of(rank, std::move(*pmix));
  if (const std::string& socket = starting_->socket_ranks[starting_->next]; !socket.empty())
    put_variable(request.environment, std::string(kSocketRanksVariable) + "=" + socket);
  if (!starting_->places.empty())
    put_variable(request.environment, std::string(kNodePlacesVariable) + "=" + starting_->places);
  if (!starting_->rank_gpus.empty())
    for (const std::string& pair : gpu_variables(starting_->gpus, starting_->rank_gpus[starting_->next]))
      put_variable(request.environment, pair);
  request.folder = app.folder;
  request.processors = processors.empty() && !task_.processors.empty() ? topology().allowed() : processors;
  request.wants_input = task_.input_rank == kEveryRank || rank.rank == task_.input_rank;
  request.tag = rank.rank;
  const Program program = program_of(app, variable(request.environment, "PATH"));
  if (program.path.empty()) {
    give_up_launch(program.exit_code, fmt::format("cannot start rank {} on {}: {}", rank.rank,
                                                  task_.map.nodes[static_cast<size_t>(task_.node)], program.problem));
    return {};
  }
  request.path = program.path;
  Result<Child> child = spawn(std::move(request), starting_->failures);
  if (!child) return std::move(child).error().within(fmt::format("starting rank {}", rank.rank));
  rank.pid = child->pid;
  rank.alive = true;
  rank.begun = child->begun;
  cleanup_.group_started(rank.pid);
  reaper_.expect(rank.pid, [this, &rank](int status, int64_t peak) { ended(rank, status, peak); });
  open_streams(rank, *child);
  return {};
}

std::vector<std::string> NodeAgent::environment_of(const Rank& rank, std::vector<std::string> pmix) const {
  std::vector<std::string> out;
  const std::string own_offer = fmt::format("{}={}", kSecurityVariable, kAlsoNone);
  for (const std::string& pair : task_.environment)
    if ((!pair.starts_with("PMIX_") || pair.starts_with("PMIX_MCA_")) && pair != own_offer) out.push_back(pair);
  const RankPlace place = task_.map.ranks[static_cast<size_t>(rank.rank)];
  for (const std::string& pair : task_.map.apps[static_cast<size_t>(place.app)].variables) put_variable(out, pair);
  put_sanitizer_options(out);
  put_variable(out, std::string(kJobVariable) + "=" + task_.map.id);
  put_variable(out, fmt::format("{}={}", kJobFolderVariable, cleanup_.folder()));
  put_variable(out, "PWD=" + task_.map.apps[static_cast<size_t>(place.app)].folder);
  if (!allocation_.empty()) put_variable(out, "TUTTI_ALLOCATION=" + allocation_);
  if (task_.rank_variables)
    put_rank_numbers(out, {.rank = rank.rank,
                           .size = static_cast<int>(task_.map.ranks.size()),
                           .local_rank = place.local_rank,
                           .local_size = task_.map.ranks.count_on(task_.node)});
  else
    drop_rank_numbers(out);
  if (place.app > 0) put_variable(out, fmt::format("TUTTI_APPNUM={}", place.app));
  // As the server has registered the ranks; in a user namespace they would call themselves otherwise.
  put_variable(out, fmt::format("TUTTI_OWNER={}:{}", ::getuid(), ::getgid()));
  if (variable(out, kHandshakeVariable).empty())
    put_variable(out, fmt::format("{}={}", kHandshakeVariable, kHandshakeSeconds));
  // A bound rank cannot see by itself how crowded its node is.
  put_variable(out, fmt::format("TUTTI_NODE_CORES={}", topology().allowed_cores()));
  for (const std::string& pair : pmix) put_variable(out, pair);
  return out;
}

// The pipe closes when every child has begun its program or has failed to.
void NodeAgent::read_failures() {
  SpawnFailure failure;
  for (;;) {
    const ssize_t n = ::read(failures_, &failure, sizeof failure);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return;
    if (n != sizeof failure) break;
    if (std::exchange(launch_failed_, true)) continue;
    const App& app = task_.map.apps[static_cast<size_t>(task_.map.ranks[static_cast<size_t>(failure.tag)].app)];
    const std::string& node = task_.map.nodes[static_cast<size_t>(task_.node)];
    const char* reason = std::strerror(failure.error_number);
    std::string sentence = fmt::format("cannot start rank {} on {}: ", failure.tag, node);
    if (failure.step == SpawnFailure::folder)
      sentence += no_folder(app.folder, failure.error_number);
    else if (failure.step == SpawnFailure::bind)
      sentence += fmt::format("cannot bind it to its processors: {}; try --bind-to none", reason);
    else
      sentence += why_not_begun(failure);
    const bool absent = failure.error_number == ENOENT;
    const int code = failure.step != SpawnFailure::execute ? 1 : absent ? 127 : 126;
    give_up_launch(code, sentence);
  }
  failures_watch_.reset();
  ::close(std::exchange(failures_, -1));
  if (!launch_failed_) job_.launched(task_.node);
}

void NodeAgent::ended(Rank& rank, int wait_status, int64_t peak) {
  rank.alive = false;
  drain(rank);
  if (failures_ >= 0) read_failures();  // that it could not begin explains its end
  const int pid = rank.pid;
  if (::kill(-pid, 0) != 0) {
    cleanup_.group_ended(pid);
    rank.pid = -1;  // the number may be another's soon
  }
  if (wait_status != 0)
    tell_crash(rank.rank);  // first: the job may finish at once, and waits for what is asked by then
  job_.rank_ended(task_.node,
                  {rank.rank, pid, wait_status, rank.connected, rank.finalized, cause_of_end(pid, wait_status, peak)});
}

// One report tells of all that have crashed on the node by then; a record that is none leads to no report.
void NodeAgent::tell_crash(int rank) {
  if (crash_ || !has_crash_record(cleanup_.folder(), rank)) return;
  crash_.emplace(loop_, reaper_, cleanup_.folder(), rank, task_.map.nodes[static_cast<size_t>(task_.node)],
                 [this, rank](const std::string& text) { job_.rank_crashed(task_.node, rank, text); });
}

// What its end waits for when no process is left: whatever it has still to tell.
bool NodeAgent::has_told_all() const {
  return streams_closed() && (!crash_ || crash_->is_over());
}

void NodeAgent::signal_ranks(int signal) {
  // A job that ends starts nothing more.
  if (signal == SIGTERM || signal == SIGKILL) stop_starting();
  ends_ranks_ = ends_ranks_ || signal == SIGKILL;
  for (auto& [number, rank] : ranks_)
    if (rank->pid > 0 && rank->alive) ::kill(-rank->pid, signal);
}

// What is left: the ranks' groups, and orphans from them that we adopted.
bool NodeAgent::leftovers(int signal) {
  bool any = false;
  for (auto& [number, rank] : ranks_) {
    if (rank->pid < 0) continue;
    if (::kill(-rank->pid, signal) == 0)
      any = true;
    else
      rank->pid = -1;
  }
  for (int pid : reaper_.strangers()) {
    any = true;
    // A job that the ranks have spawned, and parted from, may outlive them.
    if (!failed_ && is_spawned_launcher(pid)) continue;
    // A job inside this one may have been killed: its watchdog still has to clean up.
    if (std::chrono::steady_clock::now() < kill_at_ + kWatchdogGrace && is_watchdog(pid)) continue;
    ::kill(pid, signal);
  }
  return any;
}

void NodeAgent::finish(bool at_once) {
  // Once more: it was to end by itself, and is to end now.
  if (std::exchange(finishing_, true) && (failed_ || !at_once)) return;
  stop_starting();
  failed_ = at_once;
  kill_at_ = std::chrono::steady_clock::now();
  if (!at_once) kill_at_ += task_.kill_grace;
  for (const auto& input : inputs_) {
    input->watch.reset();
    if (input->fd >= 0) ::close(std::exchange(input->fd, -1));
  }
  inputs_.clear();
  if (!leftovers(at_once ? SIGKILL : SIGTERM) && has_told_all()) return finish_step();
  finish_timer_ = loop_.every(kFinishTick, [this] { finish_step(); });
}

void NodeAgent::finish_step() {
  const bool late = std::chrono::steady_clock::now() >= kill_at_;
  if (finished_ || leftovers(late ? SIGKILL : 0) || !has_told_all()) return;
  if (failed_) cleanup_.remove_segments();
  finished_ = true;
  finish_timer_.reset();
  job_.finished(task_.node);
}

void NodeAgent::client_connected(int rank) {
  Rank* const known = find(rank);
  if (!known) return;
  known->connected = true;
  known->finalized = false;  // it runs another program
}
void NodeAgent::client_finalized(int rank) {
  if (Rank* known = find(rank)) known->finalized = true;
}
void NodeAgent::client_waits(int rank) {
  if (find(rank)) job_.rank_waits(task_.node, rank);
}
void NodeAgent::client_aborted(int rank, int code, const std::string& text) {
  if (Rank* known = find(rank)) drain(*known);
  job_.rank_aborted(task_.node, rank, code, text);
}
void NodeAgent::event_raised(const std::string& packed) {
  job_.event(task_.node, packed);
}

void NodeAgent::fence_done(const std::string& key, int status, const std::string& data) {
  pmix_.finish_fence(key, status, data);
}
void NodeAgent::find_modex(uint64_t token, int rank) {
  pmix_.find_modex(token, rank);
}
void NodeAgent::modex_answer(uint64_t token, int status, const std::string& data) {
  pmix_.finish_modex(token, status, data);
}
void NodeAgent::deliver_event(const std::string& packed) {
  pmix_.deliver_event(packed);
}
void NodeAgent::look(Question question) {
  job_.looked(task_.node, question.number, look_at_ranks(task_.map.id, question.records_of));
}

}  // namespace tutti::launcher
