// SPDX-License-Identifier: BSD-3-Clause
// From a suspicion to a report: who is asked for the calls of other ranks, until when their answers are waited for, and
// which one of the ranks says it.
#include <mpi.h>

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "contract/checker.hpp"
#include "contract/deadlock_report.hpp"
#include "contract/lying.hpp"
#include "engine/engine.hpp"

namespace tutti::contract {
namespace {

using transport::Header;

constexpr std::chrono::seconds kEndTime{10};  // for whoever reports to end the job
constexpr size_t kMostAsked = 64;             // members of a communicator
constexpr size_t kMostTraced = 6;             // messages in a report
constexpr int kMostStepsBack = 60;            // as far as a ledger remembers
constexpr int kMostRepeats = 6;               // of a question, each after twice the time: 88 s in all

}  // namespace

void Checker::mismatch(Ledger& ledger, uint32_t serial, Difference difference, Evidence evidence) {
  if (ledger.state_ != Ledger::State::fine) return;
  Case made;
  made.finding.context = ledger.channel_.context;
  made.finding.serial = serial;
  made.difference = difference;
  made.evidence = evidence;
  made.asks = true;
  open_case(std::move(made), &ledger);
}

void Checker::pair_mismatch(Ledger& ledger, uint32_t serial, int rank, Difference difference, int64_t their_bytes,
                            int64_t expected_bytes) {
  if (ledger.state_ != Ledger::State::fine) return;
  Case made;
  Finding& f = made.finding;
  f.context = ledger.channel_.context;
  f.serial = serial;
  f.error_class = difference == Difference::type ? MPI_ERR_TYPE : MPI_ERR_COUNT;
  const std::string call = name_of(ledger.word_of_call(serial));
  const std::string sender = ranks_of(ledger, {rank}), me = ranks_of(ledger, {ledger.channel_.rank});
  f.sentence = difference == Difference::type
                   ? fmt::format("{} sends data of another type signature than {} expects from it in {} on {}", sender,
                                 me, call, description(ledger))
                   : fmt::format("{} sends {} bytes where {} expects {} from it in {} on {}", sender, their_bytes, me,
                                 expected_bytes, call, description(ledger));
  made.difference = difference;
  made.asks = true;
  open_case(std::move(made), &ledger);
}

void Checker::report(Finding finding) {
  Case made;
  made.finding = std::move(finding);
  Ledger* ledger = made.finding.context ? find(made.finding.context) : nullptr;
  if (ledger && ledger->state_ != Ledger::State::fine) return;
  open_case(std::move(made), ledger);
  advance();
}

void Checker::report_of_call(Finding finding, Word word) {
  Ledger* const ledger = find(finding.context);
  if (!ledger || ledger->state_ != Ledger::State::fine) return;
  Case made;
  made.finding = std::move(finding);
  made.asks = made.of_own_call = true;
  open_case(std::move(made), ledger);
  for (Side& side : cases_.back().sides)
    if (side.process == engine_.process()) {
      side.status = Status::started;
      side.word = word;
      if (const flight::CallRecord* call = flight::now()) side.call = flight::read(*call);
      side.caller = code_address(side.call.caller);
    }
  advance();
}

void Checker::report_asking(Finding finding) {
  Ledger* const ledger = find(finding.context);
  if (!ledger || ledger->state_ != Ledger::State::fine) return;
  Case made;
  made.finding = std::move(finding);
  made.asks = true;
  open_case(std::move(made), ledger);
  advance();
}

// Once the senders of what lies there unreceived have said by which calls.
void Checker::report_deadlock(const Deadlock& deadlock) {
  Case made;
  made.finding = finding_of(deadlock);
  made.is_deadlock = true;
  for (const int member : deadlock.members)
    for (const Lying& message : deadlock.states.at(member).lying) {
      if (made.lying.size() >= kMostTraced) break;
      made.lying.push_back({.receiver = member,
                            .message = message,
                            .question = trace_.ask({.context = message.context,
                                                    .bytes = message.bytes,
                                                    .process = message.process,
                                                    .dest = message.rank,
                                                    .tag = message.tag,
                                                    .pattern = message.pattern})});
    }
  open_case(std::move(made), nullptr);
  advance();
}

// True: the messages are part of the finding now.
bool Checker::has_traced(Case& c, Clock::time_point now) {
  const bool all = std::ranges::all_of(
      c.lying, [this](const Traced& each) TUTTI_ENGINE_OWNED { return trace_.is_answered(each.question); });
  if (!all && now < c.deadline) return false;
  std::vector<FoundMessage> found;
  for (Traced& each : std::exchange(c.lying, {}))
    found.push_back({each.receiver, std::move(each.message), trace_.take(each.question)});
  add_messages(c.finding, found, hooks_.others);
  return true;
}

void Checker::open_case(Case made, Ledger* ledger) {
  const auto now = Clock::now();
  made.deadline = now + options_.answer_time;
  made.last_deadline = now + kEndTime;
  if (ledger) ledger->state_ = Ledger::State::suspected;
  say(Level::debug, "contract: something is wrong with call {} on {} (difference {}){}", made.finding.serial + 1,
      ledger ? description(*ledger) : "the job", static_cast<int>(made.difference),
      made.asks ? "" : ": " + made.finding.sentence);
  engine_.add_pending();  // until it is concluded, the progress thread stays awake
  if (ledger && made.asks) ask_members(made, *ledger);
  cases_.push_back(std::move(made));
}

void Checker::ask_members(Case& c, const Ledger& ledger) {
  const engine::Channel& channel = ledger.channel_;
  c.deadline = Clock::now() + options_.answer_time;
  c.unanswered = c.repeats = 0;
  c.sides.clear();
  const int asked = std::min(channel.size(), static_cast<int>(kMostAsked));
  for (int rank = 0; rank < asked; ++rank) {
    Side side;
    if (rank == channel.rank) side = own_side(channel.context, c.finding.serial);
    side.rank = rank;
    side.process = channel.process_of(rank);
    if (rank != channel.rank) inquire(c, side);
    c.sides.push_back(std::move(side));
  }
}

void Checker::inquire(Case& c, Side& side) {
  side.status = Status::silent;
  ++c.unanswered;
  Header question = control(Control::inquire, c.finding.context, c.finding.serial);
  question.source = c.round;
  send(side.process, question);
}

// Whoever had not come to the call when it was asked, or not made the communicator, may have since.
void Checker::ask_those_not_there(Case& c) {
  c.deadline = Clock::now() + options_.answer_time;
  ++c.round;
  c.repeats = 0;
  for (Side& side : c.sides)
    if ((side.status == Status::not_yet || side.status == Status::unknown) && side.process != engine_.process())
      inquire(c, side);
}

// Whoever is still making the communicator would not hear that it is broken. True: somebody is.
bool Checker::ask_those_without_it(Case& c) {
  for (Side& side : c.sides)
    if (side.status == Status::unknown) inquire(c, side);
  return c.unanswered > 0;
}

// Questions and answers may be lost on their way; and whoever has not answered may be the one that is wrong: a stopped
// process answers when it goes on. False: it has been long enough, and who waits for the call is to wait as if nothing
// had been suspected, so that the deadlock detector looks at it.
bool Checker::ask_the_silent(Case& c, Clock::time_point now) {
  if (c.repeats == kMostRepeats) return false;
  c.late = true;
  c.deadline = now + options_.answer_time * (1 << ++c.repeats);
  c.unanswered = 0;
  for (Side& side : c.sides)
    if (side.status == Status::silent) inquire(c, side);
  return true;
}

void Checker::advance() {
  for (size_t i = 0; i < cases_.size();) {
    if (conclude(cases_[i])) {
      engine_.remove_pending();
      cases_.erase(cases_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

void Checker::claim(Case& c, const Ledger* ledger) {
  c.deadline = Clock::now() + options_.answer_time;
  Header claim = control(Control::claim, c.finding.context);
  claim.source = ends_job(ledger);
  send(0, claim);  // process 0 answers itself at once
}

// Who is far ahead has forgotten its call, and who is gone does not answer; its message remains.
void Checker::remember(Case& c) {
  for (Side& side : c.sides)
    if (side.rank == c.evidence.rank && (side.status == Status::forgotten || side.status == Status::silent)) {
      side.status = Status::started;
      side.word = c.evidence.word;
      side.call = {};
      side.caller = {};
    }
}

// What a case is about, as far as those who were asked have answered.
Checker::Stage Checker::describe_case(Case& c, Ledger* ledger, Clock::time_point now) {
  Finding& f = c.finding;
  if (c.is_deadlock && !has_traced(c, now)) return Stage::open;
  if (c.unanswered == 0 && std::exchange(c.late, false)) ask_those_not_there(c);
  if (c.unanswered > 0 && now < c.deadline) return Stage::open;
  if (c.of_own_call && now < c.deadline && ask_those_without_it(c)) return Stage::open;
  if (c.steps_back == 0) remember(c);
  if (!c.asks) return Stage::described;
  if (!ledger) return Stage::over;
  if (describe(f, *ledger, c.sides)) return Stage::described;
  const bool silent = c.unanswered > 0;
  if (silent && ask_the_silent(c, now)) return Stage::open;
  // A flag in shared memory does not say of which call it is: of an earlier one, perhaps.
  if (!silent && f.serial > 0 && ++c.steps_back <= kMostStepsBack) {
    --f.serial;
    ask_members(c, *ledger);
    return Stage::open;
  }
  ledger->dismiss(f.serial + static_cast<uint32_t>(c.steps_back));
  return Stage::over;
}

bool Checker::conclude(Case& c) {
  const auto now = Clock::now();
  Ledger* const ledger = c.finding.context ? find(c.finding.context) : nullptr;
  if (ledger && ledger->state_ == Ledger::State::broken) return true;  // told by another
  if (!c.described) {
    const Stage stage = describe_case(c, ledger, now);
    if (stage != Stage::described) return stage == Stage::over;
    c.described = true;
    claim(c, ledger);
  }
  if (c.claim == Case::Claim::open && now < c.deadline) return false;
  // Somebody else tells; its word ends the job, or this rank's calls, unless it is gone.
  const bool is_denied = c.claim == Case::Claim::denied;
  if (is_denied && !options_.report_only && now < c.last_deadline) return false;
  if (!is_denied || !options_.report_only) tell(c.finding, ledger, !is_denied);
  if (ledger && options_.report_only) ledger->settle(Ledger::State::told);
  if (ledger && !options_.report_only) break_for_all(*ledger, c.finding);
  return true;
}

void Checker::tell(const Finding& f, const Ledger* ledger, bool aloud) {
  if (ends_job(ledger)) hooks_.end_job(f.exit_code ? f.exit_code : f.error_class, text_of(f));
  if (!aloud) return;
  log_line(Level::error, text_of(f));
  if (ledger && !options_.report_only && hooks_.is_told) hooks_.is_told(*ledger);
}

void Checker::break_for_all(Ledger& ledger, const Finding& f) {
  const engine::Channel channel = ledger.channel_;
  for (int rank = 0; rank < channel.size(); ++rank) {
    if (rank == channel.rank) continue;
    Header told = control(Control::broken, f.context, f.serial);
    told.source = f.error_class;
    engine_.send_control(channel.process_of(rank), told, f.sentence.substr(0, 1500), false);
  }
  ledger.break_with(f.error_class, f.sentence);
}

}  // namespace tutti::contract
