// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/comm/survivor.hpp"

#include <mpi-ext.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <unordered_set>

#include "base/fault_point.hpp"
#include "base/flush.hpp"
#include "base/log.hpp"
#include "boot/joining.hpp"
#include "contract/checker.hpp"
#include "contract/founding.hpp"
#include "engine/context.hpp"
#include "engine/engine.hpp"
#include "exec/execution.hpp"
#include "members/processes.hpp"
#include "mpi/object/checking.hpp"
#include "mpi/object/incident.hpp"
#include "mpi/object/process.hpp"
#include "transport/ends.hpp"
#include "transport/router.hpp"

namespace tutti::mpi {
namespace {

// Messages that begin partitioned operations have it in the context (mpi/partitioned/), and no communicator has.
constexpr uint64_t kOfGreetings = uint64_t{1} << 62;

uint64_t users(uint64_t context) {
  return context & ~uint64_t{1};
}

bool is_member(const Comm& comm, int process) {
  return comm.hidden.peers.contains(process);
}

}  // namespace

Survivor::Survivor(Process& process, const Hooks& hooks)
    : process_(process), hooks_(hooks), revocations_(process.engine->process()) {
  process_.engine->add_poller(*this);
  process_.engine->set_survival_handler(this);
  process_.engine->keep_sends();
}

Survivor::~Survivor() {
  const engine::Engine::Guard own(*process_.engine);
  for (auto& [context, talks] : talks_) {
    for (auto& [serial, round] : talks.rounds) end(*round);
    if (talks.box) talks.box->forget_calls();
  }
  process_.engine->remove_poller(*this);
  process_.engine->set_survival_handler(nullptr);
  process_.engine->set_judge(nullptr);
}

// ---- communicators come and go

void Survivor::made(Comm& comm) {
  const uint64_t context = comm.context();
  if (context == engine::kNoContext) return;
  const Lock lock(mutex_);
  Members& members = members_[context];
  members.comm = &comm;
  for (const int process : lost_)
    if (is_member(comm, process)) members.failed.push_back(process);
  members.revoked = revocations_.open(context, comm.hidden.peers);
  if (revocations_.has_words()) owes_words_.store(true, std::memory_order_relaxed);  // which poll() sends
  if (!members.failed.empty()) comm.user.harm = comm.hidden.harm = engine::Channel::kMemberFailed;
  if (members.revoked) comm.user.harm = comm.hidden.harm = engine::Channel::kRevoked;
}

void Survivor::gone(const Comm& comm) {
  const Lock lock(mutex_);
  const auto at = members_.find(comm.context());
  if (at == members_.end() || at->second.comm != &comm) return;
  members_.erase(at);
  revocations_.close(comm.context());
}

void Survivor::add_context(uint64_t context, const Comm& of, int peer, Ends ends) {
  const Lock lock(mutex_);
  others_[context] = {of.context(), peer, std::move(ends)};
}

void Survivor::remove_context(uint64_t context) {
  const Lock lock(mutex_);
  others_.erase(context);
}

int Survivor::harm(const Comm& comm, int peer) const {
  const Lock lock(mutex_);
  const auto at = members_.find(comm.context());
  if (at == members_.end()) return 0;
  if (at->second.revoked) return MPIX_ERR_REVOKED;
  return std::ranges::count(at->second.failed, peer) ? MPIX_ERR_PROC_FAILED : 0;
}

// They are told without the lock: what ends may remove its context.
void Survivor::end_others(const std::function<bool(const Other&)>& are_due, int mpi_class) {
  std::vector<Ends> due;
  {
    const Lock lock(mutex_);
    for (const auto& [context, other] : others_)
      if (other.ends && are_due(other)) due.push_back(other.ends);
  }
  for (const Ends& ends : due) ends(mpi_class);
}

std::unordered_map<uint64_t, Survivor::Members>::const_iterator Survivor::find(uint64_t context) const {
  const auto other = others_.find(context);
  return members_.find(other == others_.end() ? users(context) & ~kOfGreetings : other->second.of);
}

// ---- who has failed

bool Survivor::poll() {
  const bool owes = owes_words_.load(std::memory_order_relaxed);
  bool any = false;
  if (!heard_.empty() || process_.processes->changes() != read_ || owes) [[unlikely]] {
    if (owes) tell_revocations();
    any = hear_all();
    any |= take_changes();
  }
  if (awaiting_.empty()) [[likely]]
    return any;
  return look_for_ballots() || any;
}

// What one who has failed had sent before is heard first: who has contributed to an agreement is no more left out.
bool Survivor::take_changes() {
  const auto is_failure = [](const members::Change& change) { return change.state == members::State::failed; };
  std::vector<members::Change> changes;
  // A connection of jobs that ends with one of them makes more. These live, maybe, and end soon: where a first message
  // of this process comes to them then, UCX (1.13) ends the rank that is about to answer, or this one, by an assertion.
  while (process_.processes->changes() != read_) {
    const std::vector<members::Change> more = process_.processes->changes_since(read_);
    read_ += more.size();
    for (const members::Change& change : more)
      if (is_failure(change)) hooks_.cut_off(change.process);
    changes.insert(changes.end(), more.begin(), more.end());
  }
  if (changes.empty()) return false;
  // Nothing goes to one who has failed, as answers to what is left of it would, past the router, which knows of that.
  const bool any_failed = std::ranges::any_of(changes, is_failure);
  if (any_failed && &process_.engine->transport() == &process_.transport->direct())
    process_.engine->switch_transport(*process_.transport);
  process_.transport->take_changes();
  bool any = hear_all();
  for (const members::Change& change : changes) {
    if (!is_failure(change)) continue;
    lose(change.process);
    any = true;
  }
  return any;
}

// What is sent from here on is asked about, and goes where it is known who has failed.
void Survivor::begin_to_judge() {
  if (std::exchange(judges_, true)) return;
  process_.engine->set_judge(this);
}

transport::Header Survivor::failure_of(int process) const {
  const members::GlobalName name = process_.processes->name_of(process);
  return {.tag = kFailure, .serial = static_cast<uint32_t>(name.rank), .ticket = name.job};
}

void Survivor::take_failure(const transport::Header& header) {
  const int process = process_.processes->find({header.ticket, static_cast<int32_t>(header.serial)});
  if (process >= 0) process_.processes->report(process, members::State::failed, "has failed, as its job says");
  take_changes();
}

void Survivor::lose(int process) {
  begin_to_judge();
  transport::say_no_ucx_errors();
  std::vector<uint64_t> contexts;
  std::set<int> foreign;
  {
    const Lock lock(mutex_);
    lost_.push_back(process);
    revocations_.fail(process);
    for (auto& [context, members] : members_) {
      if (!is_member(*members.comm, process)) continue;
      members.failed.push_back(process);
      members.comm->user.harm |= engine::Channel::kMemberFailed;
      members.comm->hidden.harm |= engine::Channel::kMemberFailed;
      for (const int peer : members.comm->hidden.peers)
        if (process_.processes->is_foreign(peer)) foreign.insert(peer);
    }
    for (const auto& [context, talks] : talks_)
      if (talks.members.contains(process)) contexts.push_back(context);
  }
  const auto has_it = [process](const engine::Channel& channel) { return channel.peers.contains(process); };
  if (process_.checker) process_.checker->note_harm(has_it);
  tell_revocations();
  engine::Engine& engine = *process_.engine;
  // Other jobs hear of the ranks of this one by those who are connected with them.
  if (!process_.processes->is_foreign(process))
    for (const int other : foreign)
      if (!process_.processes->has_failed(other)) engine.send_of_survival(other, failure_of(process), nullptr, 0);
  engine.fail_answers_of(process, MPIX_ERR_PROC_FAILED);
  judge_posted();
  end_others([process](const Other& other) { return other.peer == process; }, MPIX_ERR_PROC_FAILED);
  hooks_.lost(process, MPIX_ERR_PROC_FAILED);
  exec::Execution::abandon_those(engine, has_it, MPIX_ERR_PROC_FAILED);
  for (const uint64_t context : contexts) {
    Talks& talks = talks_.at(context);
    std::vector<uint32_t> serials;
    for (auto& [serial, round] : talks.rounds) {
      round->machine.fail(talks.members.rank_of(process));
      serials.push_back(serial);
    }
    for (const uint32_t serial : serials) go_on(context, talks, serial);
    if (talks.box) {
      talks.box->fail(talks.members.rank_of(process));
      look_into_box(talks);
    }
  }
  engine.note_event();
}

// ---- judging

int Survivor::refuses(const engine::Match& match) {
  const Lock lock(mutex_);
  const auto at = find(match.context);
  return at != members_.end() && at->second.revoked ? MPIX_ERR_REVOKED : 0;
}

// The class of the error with which a receive ends; 0: it may still be satisfied. A new communicator's members that hear
// of it from each other alone wait for nobody else of the one that it is made of.
int Survivor::verdict(const engine::RecvOperation& receive, bool& may_be_interrupted) const {
  const engine::Match& match = receive.match;
  const Lock lock(mutex_);
  if (match.context == engine::ContextPool::without_parent())
    return std::ranges::count(lost_, match.source) ? MPIX_ERR_PROC_FAILED : 0;
  const auto at = find(match.context);
  if (at == members_.end()) return 0;
  const Members& members = at->second;
  if (members.revoked) return MPIX_ERR_REVOKED;
  if (members.failed.empty()) return 0;
  const engine::Channel& channel = engine::is_hidden(match.context) ? members.comm->hidden : members.comm->user;
  if (match.source != engine::kAnySource)
    return match.source >= 0 && std::ranges::count(members.failed, channel.process_of(match.source))
               ? MPIX_ERR_PROC_FAILED
               : 0;
  may_be_interrupted = true;
  if (members.acknowledged < members.failed.size()) return MPIX_ERR_PROC_FAILED;
  // Nobody is left who could send.
  const bool alone = std::ranges::all_of(
      channel.peers, [&](int peer) { return peer == my_process() || std::ranges::count(members.failed, peer); });
  return alone ? MPIX_ERR_PROC_FAILED : 0;
}

bool Survivor::ends(engine::RecvOperation& receive) {
  bool may_be_interrupted = false;
  const int error_class = verdict(receive, may_be_interrupted);
  if (error_class == 0) return false;
  if (error_class == MPIX_ERR_PROC_FAILED && may_be_interrupted && hooks_.interrupt(receive)) return false;
  process_.engine->fail(receive, error_class);
  return true;
}

void Survivor::posted(engine::RecvOperation& receive) {
  ends(receive);
}

// One at a time: what ends may withdraw others, and its memory may be another one's afterwards.
void Survivor::judge_posted() {
  std::unordered_set<const engine::RecvOperation*> stay;
  for (;;) {
    engine::RecvOperation* due = nullptr;
    process_.engine->matcher().each_posted([&](const engine::RecvOperation& receive) {
      bool may_be_interrupted = false;
      if (!due && !stay.contains(&receive) && verdict(receive, may_be_interrupted))
        due = const_cast<engine::RecvOperation*>(&receive);
    });
    if (!due) return;
    if (!ends(*due)) stay.insert(due);
  }
}

std::vector<int> Survivor::failed(const Comm& comm) {
  poll();  // an error that has been told may be of one whom no pass of the engine has found yet
  const Lock lock(mutex_);
  const auto at = members_.find(comm.context());
  return at == members_.end() ? std::vector<int>() : at->second.failed;
}

std::vector<int> Survivor::acknowledged(const Comm& comm) const {
  const Lock lock(mutex_);
  const auto at = members_.find(comm.context());
  if (at == members_.end()) return {};
  const std::vector<int>& all = at->second.failed;
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(at->second.acknowledged)};
}

int Survivor::acknowledge(const Comm& comm, int count) {
  poll();
  bool all = false;
  size_t acknowledged = 0;
  {
    const Lock lock(mutex_);
    Members& members = members_.at(comm.context());
    const auto wanted = static_cast<size_t>(std::max(0, count));
    members.acknowledged = std::max(members.acknowledged, std::min(wanted, members.failed.size()));
    acknowledged = members.acknowledged;
    all = acknowledged == members.failed.size();
  }
  if (all) {
    std::vector<engine::RecvOperation*> waiting;
    process_.engine->matcher().each_posted([&](const engine::RecvOperation& receive) {
      if (receive.match.context == comm.context() && receive.match.source == engine::kAnySource)
        waiting.push_back(const_cast<engine::RecvOperation*>(&receive));
    });
    for (engine::RecvOperation* const each : waiting) hooks_.resume(*each);
    judge_posted();  // nobody may be left who could send
  }
  return static_cast<int>(acknowledged);
}

Error Survivor::refusal(const engine::Channel& channel) const {
  if (channel.harm & engine::Channel::kRevoked) return failure(MPIX_ERR_REVOKED, "the communicator is revoked");
  const Lock lock(mutex_);
  std::vector<int> ranks;
  for (const int process : lost_)
    if (const int rank = channel.peers.rank_of(process); rank >= 0) ranks.push_back(rank);
  return failure(MPIX_ERR_PROC_FAILED, "rank {} of the communicator has failed{}", ranks.empty() ? -1 : ranks[0],
                 ranks.size() > 1 ? fmt::format(", and {} more", ranks.size() - 1) : "");
}

void Survivor::told_of_failure(const Comm& comm) {
  const Lock lock(mutex_);
  if (const auto at = members_.find(comm.context()); at != members_.end()) at->second.told = at->second.failed.size();
}

void Survivor::warn_if_told(const engine::Channel& channel) {
  const Comm* comm = nullptr;
  int failed = -1;
  {
    const Lock lock(mutex_);
    const auto at = members_.find(users(channel.context));
    if (at == members_.end()) return;
    Members& members = at->second;
    if (members.acknowledged >= members.told || members.revoked || std::exchange(members.warned, true)) return;
    comm = members.comm;
    failed = channel.peers.rank_of(members.failed[members.acknowledged]);
  }
  std::string text = fmt::format(
      "a collective is called on a communicator of which rank {} has failed, as an error has told this rank: it fails "
      "again, "
      "and others may wait for this rank, who do not know; a program acknowledges a failure (MPIX_Comm_ack_failed), or "
      "revokes "
      "the communicator (MPIX_Comm_revoke) and shrinks it",
      failed);
  for (const std::string& line : story_of(here(), comm, {})) text += "\n  " + line;
  log_line(Level::warning, text);
}

Error Survivor::refusal_of_probe(const Comm& comm, int source) const {
  engine::RecvOperation asked;
  asked.match = {comm.context(), source, 0, 0};
  bool may_be_interrupted = false;
  const int error_class = verdict(asked, may_be_interrupted);
  if (error_class == 0) return {};
  if (error_class == MPIX_ERR_REVOKED) return failure(error_class, "the communicator is revoked");
  if (source == engine::kAnySource)
    return failure(error_class, "a rank that might send has failed, and the program has not acknowledged it");
  return failure(error_class, "rank {} has failed, and no message of it is left", source);
}

// ---- revoking

bool Survivor::is_revoked(const Comm& comm) const {
  return (comm.user.harm & engine::Channel::kRevoked) != 0;
}

void Survivor::revoke(const Comm& comm) {
  take_revocation(comm.context(), my_process());
}

// The lock is not held while anything is sent.
void Survivor::tell_revocations() {
  owes_words_.store(false, std::memory_order_relaxed);
  std::vector<survival::Revocations::Word> words;
  {
    const Lock lock(mutex_);
    words = revocations_.take_words();
  }
  for (const survival::Revocations::Word& word : words) {
    const transport::Header header{.tag = kRevocation, .ticket = word.context};
    for (const int process : word.to) {
      process_.engine->send_of_survival(process, header, nullptr, 0);
      TUTTI_FAULT_POINT("revoke.told_one");
    }
  }
}

void Survivor::take_revocation(uint64_t context, int by) {
  begin_to_judge();
  bool is_news = false;
  std::vector<uint64_t> of_sends = {context, context | kOfGreetings};
  {
    const Lock lock(mutex_);
    for (const auto& [other, of] : others_)
      if (of.of == context) of_sends.push_back(other);
    is_news = by == my_process() ? revocations_.revoke(context) : revocations_.hear(context, by);
    const auto at = members_.find(context);
    is_news = is_news && at != members_.end();
    if (is_news) {
      at->second.revoked = true;
      Comm& comm = *at->second.comm;
      comm.user.harm |= engine::Channel::kRevoked;
      comm.hidden.harm |= engine::Channel::kRevoked;
    }
  }
  const auto is_its = [context](const engine::Channel& channel) {
    return users(channel.context) == context || channel.communicator == context;
  };
  if (is_news && process_.checker) process_.checker->note_harm(is_its);
  TUTTI_FAULT_POINT("revoke.known");
  tell_revocations();
  if (!is_news) return;
  engine::Engine& engine = *process_.engine;
  judge_posted();
  for (const uint64_t each : of_sends) engine.withdraw_sends(each, MPIX_ERR_REVOKED);
  end_others([context](const Other& other) { return other.of == context; }, MPIX_ERR_REVOKED);
  exec::Execution::abandon_those(engine, is_its, MPIX_ERR_REVOKED);
  engine.note_event();
}

// ---- ending

namespace {

// Of a process whose end others hear of by the launcher.
[[noreturn]] void end_here(int code) {
  flush_streams();
  std::_Exit(code);
}

}  // namespace

void Survivor::end_members(const Comm& comm, int code, const std::string& why) {
  std::vector<int> others;
  {
    const Lock lock(mutex_);
    for (const int process : comm.hidden.peers)
      if (process != my_process() && !std::ranges::count(lost_, process)) others.push_back(process);
    const auto own = [this](int process) { return !process_.processes->is_foreign(process); };
    if (std::ranges::count_if(others, own) + 1 + std::ranges::count_if(lost_, own) >= process_.job->view().size) return;
  }
  say(Level::error, "{}", why);
  engine::Engine& engine = *process_.engine;
  const transport::Header header{.tag = kEnd, .ticket = static_cast<uint64_t>(code)};
  for (const int process : others) engine.send_of_survival(process, header, nullptr, 0);
  engine.wait_until([&]() TUTTI_ENGINE_OWNED { return engine.transport().flushed(); });
  end_here(code);
}

// ---- hearing

// It is handed over while a transport takes it out of its ring, and what follows from it (a failure, an end of operations)
// changes that transport.
void Survivor::handle(const transport::Header& header, const std::byte* data) {
  heard_.push_back({header, std::string(reinterpret_cast<const char*>(data), static_cast<size_t>(header.bytes))});
}

bool Survivor::hear_all() {
  const bool any = !heard_.empty();
  while (!heard_.empty()) {
    const auto [header, text] = std::move(heard_.front());
    heard_.pop_front();
    hear(header, text);
  }
  return any;
}

void Survivor::hear(const transport::Header& header, const std::string& text) {
  if (header.tag == kRevocation) return take_revocation(header.ticket, header.process);
  if (header.tag == kFailure) return take_failure(header);
  if (header.tag == kEnd) end_here(static_cast<int>(header.ticket));
  Talks& talks = talks_[header.ticket];
  {
    const Lock lock(mutex_);  // another thread may be about to free the communicator
    const auto at = members_.find(header.ticket);
    if (at != members_.end()) introduce(talks, *at->second.comm);
  }
  if (talks.members.empty()) return talks.early.push_back({header, text});
  receive_early(talks);
  receive(talks, header, text);
  go_on(header.ticket, talks, header.serial);
}

const std::shared_ptr<Survivor>& survivor_of(const Comm& comm) {
  return comm.process.survivor;
}

Error refusal(const engine::Channel& channel) {
  if (checking.watcher) process().survivor->warn_if_told(channel);
  return process().survivor->refusal(channel);
}

void end_members(const HasErrhandler& of, int code, const std::string& why) {
  if (!process().survivor || of.kind != Errhandler::On::communicator || current.phase.load() != Phase::running) return;
  const engine::Engine::Guard own(engine_of_process());
  process().survivor->end_members(static_cast<const Comm&>(of), code, why);
}

}  // namespace tutti::mpi
