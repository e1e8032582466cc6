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
#include <optional>

#include "base/address_key.hpp"
#include "base/handshake.hpp"
#include "base/log.hpp"
#include "launcher/node/environment.hpp"
#include "launcher/node/limits.hpp"
#include "launcher/node/look.hpp"
#include "launcher/node/profiles.hpp"
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
    : loop_(loop),
      reaper_(reaper),
      cleanup_(cleanup),
      pmix_(pmix),
      job_(job),
      places_(topology),
      files_(cleanup.folder()),
      streams_(loop, job),
      addresses_(pmix, job, cleanup.folder()) {
  task_.node = node;  // it may have to finish what it never began
  reaper_.expect(cleanup_.watchdog(), [](int, int64_t) {});
  pmix_.attach(loop_, *this);
}

NodeAgent::~NodeAgent() {
  for (int fd : {failures_, starting_ ? starting_->failures : -1})
    if (fd >= 0) ::close(fd);
}

NodeAgent::Rank* NodeAgent::find(int rank) {
  const auto found = ranks_.find(rank);
  return found == ranks_.end() ? nullptr : found->second.get();
}

void NodeAgent::launch(const Common<NodeTask>& task, int node, std::span<const int> ranks) {
  assume_on_loop();
  TUTTI_INVARIANT(ranks_.empty() && !starting_, "a node launches its part of a job once");
  task_ = *task;
  task_.node = node;
  for (App& app : task_.map.apps) settle_folder(app);
  starting_.emplace().ranks.assign(ranks.begin(), ranks.end());
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
  lookouts_.memory_kills.emplace();
  if (Error e = files_.place(task_)) return e;
  Result<std::string> allocation = allocation_text(task_, cleanup_.folder());
  if (!allocation) return std::move(allocation).error();
  allocation_ = *std::move(allocation);
  if (Error e = places_.choose(task_)) return e;
  if (task_.report_bindings)
    for (const std::string& line : places_.report(task_)) job_.note(task_.node, line);
  if (Error e = pmix_.register_job(task_, places_.binding())) return e;
  streams_.begin(task_);
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

void NodeAgent::start_slice() {
  const auto end = std::chrono::steady_clock::now() + kSlice;
  do {
    const int number = starting_->ranks[starting_->next];
    auto& rank = ranks_[number] = std::make_unique<Rank>();
    rank->rank = number;
    if (Error e = start_rank(*rank, starting_->next)) return give_up_launch(1, e.message());
    if (!starting_) return;  // the job has ended meanwhile
    if (++starting_->next == starting_->ranks.size()) {
      ::close(starting_->failures);
      starting_.reset();
      lookouts_.late_starts = loop_.after(kLateStart, [this] { tell_late_starts(); });
      return look_for_another_mpi();
    }
  } while (std::chrono::steady_clock::now() < end);
  starting_->next_slice = loop_.after(std::chrono::nanoseconds(0), [this] { start_slice(); });
}

Error NodeAgent::start_rank(Rank& rank, size_t index) {
  const App& app = task_.map.apps[static_cast<size_t>(task_.map.ranks[static_cast<size_t>(rank.rank)].app)];
  Result<std::vector<std::string>> pmix = pmix_.variables_of(rank.rank);
  if (!pmix) return std::move(pmix).error();
  SpawnRequest request;
  request.command = app.command;
  request.environment = environment_of(rank, std::move(*pmix));
  for (const std::string& pair : places_.variables(index)) put_variable(request.environment, pair);
  request.folder = app.folder;
  const std::vector<int>& processors = places_.processors(index);
  request.processors = processors.empty() && !task_.processors.empty() ? places_.topology().allowed() : processors;
  request.wants_input = task_.input_rank == kEveryRank || rank.rank == task_.input_rank;
  request.tag = rank.rank;
  const Program program = files_.program_of(task_, app, variable(request.environment, "PATH"));
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
  streams_.open(rank.rank, *child);
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
  put_variable(out, fmt::format("TUTTI_NODE_CORES={}", places_.topology().allowed_cores()));
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
  streams_.drain(rank.rank);
  if (failures_ >= 0) read_failures();  // that it could not begin explains its end
  const int pid = rank.pid;
  if (::kill(-pid, 0) != 0) {
    cleanup_.group_ended(pid);
    rank.pid = -1;  // the number may be another's soon
  }
  tell_failure(rank, wait_status);  // first: the job may end the others at once
  if (wait_status != 0)
    tell_crash(rank.rank);  // first: the job may finish at once, and waits for what is asked by then
  job_.rank_ended(task_.node,
                  {rank.rank, pid, wait_status, rank.connected, rank.finalized, cause_of_end(pid, wait_status, peak)});
}

// One report tells of all that have crashed on the node by then; a record that is none leads to no report.
void NodeAgent::tell_crash(int rank) {
  if (lookouts_.crash || !has_crash_record(cleanup_.folder(), rank)) return;
  lookouts_.crash.emplace(loop_, reaper_, cleanup_.folder(), rank, task_.map.nodes[static_cast<size_t>(task_.node)],
                          [this, rank](const std::string& text) { job_.rank_crashed(task_.node, rank, text); });
}

// To the other ranks. Of those that end because all are ended it is no news, nor of one that has called MPI_Finalize.
void NodeAgent::tell_failure(const Rank& rank, int wait_status) {
  if (ends_ranks_ || !rank.connected || rank.finalized) return;
  assume_on_loop();
  const int signal = WTERMSIG(wait_status);
  pmix_.tell_failure(rank.rank,
                     WIFSIGNALED(wait_status)
                         ? fmt::format("was killed by signal {} ({})", signal, ::strsignal(signal))
                         : fmt::format("exited with code {} without MPI_Finalize", WEXITSTATUS(wait_status)));
}

void NodeAgent::ranks_failed(const std::vector<int>& ranks, const std::string& why) {
  for (const int rank : ranks) pmix_.hear_failure(rank, why);
}

// What its end waits for when no process is left: whatever it has still to tell.
bool NodeAgent::has_told_all() const {
  return streams_.are_closed() && (!lookouts_.crash || lookouts_.crash->is_over());
}

void NodeAgent::signal_ranks(int signal) {
  // A job that ends starts nothing more.
  const bool ends = signal == SIGTERM || signal == SIGKILL;
  if (ends) stop_starting();
  ends_ranks_ = ends_ranks_ || ends;
  kills_ranks_ = kills_ranks_ || signal == SIGKILL;
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
    if (!ending_.at_once && is_spawned_launcher(pid)) continue;
    // A job inside this one may have been killed: its watchdog still has to clean up.
    if (std::chrono::steady_clock::now() < ending_.kill_at + kWatchdogGrace && is_watchdog(pid)) continue;
    ::kill(pid, signal);
  }
  return any;
}

void NodeAgent::finish(bool at_once) {
  // Once more: it was to end by itself, and is to end now.
  if (std::exchange(ending_.begun, true) && (ending_.at_once || !at_once)) return;
  stop_starting();
  ending_.at_once = at_once;
  ending_.kill_at = std::chrono::steady_clock::now();
  if (!at_once) ending_.kill_at += task_.kill_grace;
  streams_.close_input();
  if (!leftovers(at_once ? SIGKILL : SIGTERM) && has_told_all()) return finish_step();
  ending_.timer = loop_.every(kFinishTick, [this] { finish_step(); });
}

void NodeAgent::finish_step() {
  const bool late = std::chrono::steady_clock::now() >= ending_.kill_at;
  if (ending_.over || leftovers(late ? SIGKILL : 0) || !has_told_all()) return;
  if (ending_.at_once) cleanup_.remove_segments();
  ending_.over = true;
  ending_.timer.reset();
  // Where nobody profiles there is nothing to read.
  if (std::vector<RankProfile> profiles = read_profiles(cleanup_.folder()); !profiles.empty())
    job_.profiled(task_.node, std::move(profiles));
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
  streams_.drain(rank);
  job_.rank_aborted(task_.node, rank, code, text);
}

void NodeAgent::learn(const Common<NodeTask>& kin) {
  if (Error e = pmix_.learn(*kin)) job_.remark(task_.node, Level::warning, e.message());
}
void NodeAgent::look(Question question) {
  std::vector<RankView> ranks = look_at_ranks(task_.map.id, question.records_of);
  if (question.together)
    job_.grouped(task_.node, question.number, groups_of(ranks));
  else
    job_.looked(task_.node, question.number, std::move(ranks));
}

}  // namespace tutti::launcher
