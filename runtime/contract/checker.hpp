// SPDX-License-Identifier: BSD-3-Clause
// The contract checker of one process: knows the ledgers, asks other ranks by control messages what
// they are doing, and turns a contradiction into one report for the job.
//
// A finding goes this way: suspected (a comparison failed) → all members of the communicator are
// asked for their call → if these contradict each other, process 0 is asked for the leave to speak →
// the report is printed by the one who got it → the error is raised, by the communicator's error
// handler. Who does not answer in time is reported as silent if the others contradict each other;
// else they are asked again, since questions and answers may be lost, and at last the suspicion is
// dropped.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/engine_owned.hpp"
#include "base/mutex.hpp"
#include "contract/checker_options.hpp"
#include "contract/ledger.hpp"
#include "contract/report.hpp"
#include "contract/standstill.hpp"
#include "contract/trace.hpp"
#include "engine/observer.hpp"

namespace tutti::contract {

struct Witness;  // own_state.hpp

// Header::tag of control messages.
enum class Control : int32_t {
  ask,         // ticket: context, serial, signature: what have you started there?
  answer,      // source: Status; the word
  inquire,     // the same, in full
  details,     // bytes: Details
  claim,       // ticket: context, source: 1 if it ends the job; to process 0: may I report?
  claimed,     // source: 1 if so
  standstill,  // bytes: Standstill's
  broken,      // ticket: context, source: error class, bytes: the sentence
  exchange,    // serial: which, bytes: anything
  trace,       // serial and bytes: Trace's; source: 1 if it answers
  relay,       // bytes: another one, on its way from rank to rank (contract/relay.hpp)
};

inline transport::Header control(Control what, uint64_t ticket, uint32_t serial = 0) {
  transport::Header header;
  header.tag = static_cast<int32_t>(what);
  header.ticket = ticket;
  header.serial = serial;
  return header;
}

// What the checker needs of the layer above it.
struct Hooks {
  // Prints the report and ends the job.
  void (*end_job)(int code, const std::string& report) = nullptr;
  // This process has printed a report of calls on this communicator or file, which ends nothing: errors are returned.
  void (*is_told)(const Ledger& ledger) = nullptr;
  // Is this process in MPI_Finalize, or at its exit, so that it makes no call on this communicator any more?
  bool (*has_made_all_calls)(uint64_t context) = nullptr;
  // May no thread act but those that stand in blocking calls?
  bool (*all_threads_blocked)() = nullptr;
  MayHaveSent may_have_sent = nullptr;
  // Is this process at its exit, where it calls MPI no more, and has only stayed to answer?
  bool (*has_ended)() = nullptr;
  // Has that one ended, so that it never answers?
  bool (*is_gone)(int process) = nullptr;
  Others others;
};

// What a message has said of its sender's call.
struct Evidence {
  int rank = -1;
  Word word = 0;
};

// Large: its private functions are the steps that a finding goes through, as the first lines say, in the order of these;
// what they share is the one list of cases.
class Checker final : public engine::Observer {
 public:
  Checker(engine::Engine& engine, CheckOptions options, Hooks hooks);
  ~Checker();

  const CheckOptions& options() const { return options_; }
  engine::Engine& engine() { return engine_; }

  // A communicator is made, and gone; any thread, whether it owns the engine or not. A ledger
  // answers for some time after its communicator is gone.
  // `kept`: as the ledger's constructor has it.
  Ledger* open(const engine::Channel& hidden, Origin origin, uint32_t kept = Ledger::kKept);
  void close(Ledger& ledger);
  // A member of these has failed, or they are revoked, which their channels of now say already: those that have been
  // opened, and those that answer only. Any thread; `which` calls nothing of the checker.
  void note_harm(const std::function<bool(const engine::Channel&)>& which);
  // Ends those that have answered long enough since their communicators were gone. A call of the
  // program owns the engine, and comes by often enough: whenever one is made.
  void forget_the_gone() TUTTI_ENGINE_OWNED;
  // No call comes any more on this communicator: its ranks compare all of them. A call of the
  // program owns the engine.
  void settle(Ledger& ledger) TUTTI_ENGINE_OWNED;
  // The same of all communicators that still are there.
  void settle_all() TUTTI_ENGINE_OWNED;
  // Nothing is suspected that has not been told.
  bool is_idle() const TUTTI_ENGINE_OWNED { return cases_.empty(); }

  // What a ledger has found.
  void mismatch(Ledger& ledger, uint32_t serial, Difference difference, Evidence evidence = {}) TUTTI_ENGINE_OWNED;
  void pair_mismatch(Ledger& ledger, uint32_t serial, int rank, Difference difference, int64_t their_bytes,
                     int64_t expected_bytes) TUTTI_ENGINE_OWNED;

  // Reports a finding of any kind, once for the job, and raises it: on the communicator of
  // `finding.context`, or where that is 0 on the job. Does not return if that ends it here.
  void report(Finding finding) TUTTI_ENGINE_OWNED;

  // Each process of the job gives each other one some bytes, and gets theirs, by process; all call
  // it equally often.
  std::vector<std::string> exchange(std::vector<std::string> to) TUTTI_ENGINE_OWNED;

  // The same of the call that this rank is about to make on that communicator: the details tell what
  // all ranks do there.
  void report_of_call(Finding finding, Word word) TUTTI_ENGINE_OWNED;
  // The same of a call that this rank has started, and in which all others are or have been.
  void report_asking(Finding finding) TUTTI_ENGINE_OWNED;

  // Observer
  void arrived(const transport::Header& header) override TUTTI_ENGINE_OWNED;
  void told(const transport::Header& header, const std::byte* data) override TUTTI_ENGINE_OWNED;
  void waits(life::Blocked& blocked, std::chrono::nanoseconds since) override TUTTI_ENGINE_OWNED;

  Ledger* find(uint64_t context) TUTTI_ENGINE_OWNED;
  Trace& trace() TUTTI_ENGINE_OWNED { return trace_; }

 private:
  using Clock = std::chrono::steady_clock;
  // A message that a report names, whose sender has been asked for its call.
  struct Traced {
    int receiver = -1;
    Lying message;
    uint32_t question = 0;
  };
  // A finding on its way.
  struct Case {
    Finding finding;
    Difference difference = Difference::none;
    Evidence evidence;        // of the call that was suspected first
    std::vector<Side> sides;  // of the members that are asked
    bool asks = false;        // the sentence is made from the sides
    int unanswered = 0;
    bool late = false;         // some answers came, or come, long after others
    int round = 0;             // of the questions: answers to those of an earlier one are out of date
    int repeats = 0;           // of the questions of this round
    int steps_back = 0;        // the finding's serial has become less by so much
    bool of_own_call = false;  // nobody else's contradicts it
    bool is_deadlock = false;
    std::vector<Traced> lying;  // of a deadlock
    bool described = false;     // the finding stands
    enum class Claim : uint8_t { open, granted, denied } claim = Claim::open;
    Clock::time_point deadline;       // of the answers that are awaited now
    Clock::time_point last_deadline;  // of everything
  };

  // A control message to another process, by way of others where need be. It may be lost.
  void send(int to, const transport::Header& header, std::string bytes = {}) TUTTI_ENGINE_OWNED;
  int next_for(int to) const TUTTI_ENGINE_OWNED;
  void relay(const std::byte* data, size_t bytes) TUTTI_ENGINE_OWNED;
  Witness witness();
  Standstill::Means means_of_standstill();
  void report_deadlock(const Deadlock& deadlock) TUTTI_ENGINE_OWNED;
  bool has_traced(Case& c, Clock::time_point now) TUTTI_ENGINE_OWNED;
  void open_case(Case made, Ledger* ledger) TUTTI_ENGINE_OWNED;
  void ask_members(Case& c, const Ledger& ledger) TUTTI_ENGINE_OWNED;
  void inquire(Case& c, Side& side) TUTTI_ENGINE_OWNED;
  void ask_those_not_there(Case& c) TUTTI_ENGINE_OWNED;
  bool ask_those_without_it(Case& c) TUTTI_ENGINE_OWNED;
  bool ask_the_silent(Case& c, Clock::time_point now) TUTTI_ENGINE_OWNED;
  bool ends_job(const Ledger* ledger) const { return !options_.report_only && (!ledger || ledger->is_fatal()); }
  void advance() TUTTI_ENGINE_OWNED;
  static void remember(Case& c);
  enum class Stage : uint8_t { open, described, over };
  Stage describe_case(Case& c, Ledger* ledger, Clock::time_point now) TUTTI_ENGINE_OWNED;
  bool conclude(Case& c) TUTTI_ENGINE_OWNED;  // true: it is over
  void tell(const Finding& finding, const Ledger* ledger, bool aloud);
  void break_for_all(Ledger& ledger, const Finding& finding) TUTTI_ENGINE_OWNED;
  void claim(Case& c, const Ledger* ledger) TUTTI_ENGINE_OWNED;
  void answer_details(const transport::Header& asked) TUTTI_ENGINE_OWNED;
  void take_details(const transport::Header& header, const std::byte* data) TUTTI_ENGINE_OWNED;
  void take_answer(const transport::Header& header) TUTTI_ENGINE_OWNED;
  Side own_state(uint64_t context, uint32_t serial) TUTTI_ENGINE_OWNED;
  Side own_side(uint64_t context, uint32_t serial) TUTTI_ENGINE_OWNED;
  void show_awaited(life::Blocked& blocked, std::chrono::nanoseconds since) const TUTTI_ENGINE_OWNED;
  void ask_those_awaited(std::chrono::nanoseconds since) TUTTI_ENGINE_OWNED;
  void compare_unexpected() TUTTI_ENGINE_OWNED;

  engine::Engine& engine_;
  const CheckOptions options_;
  const Hooks hooks_;

  static constexpr size_t kKeptGone = 8;
  Mutex mutex_;  // of the two below
  std::unordered_map<uint64_t, std::unique_ptr<Ledger>> ledgers_ TUTTI_GUARDED_BY(mutex_);
  std::deque<std::unique_ptr<Ledger>> gone_ TUTTI_GUARDED_BY(mutex_);

  Ledger* cache_[8] TUTTI_OWNERS = {};  // by context; the engine's owner's
  std::vector<Case> cases_ TUTTI_OWNERS;
  std::set<uint64_t> claims_ TUTTI_OWNERS;                                  // process 0's: what has been granted
  std::map<std::pair<uint32_t, int>, std::string> exchanged_ TUTTI_OWNERS;  // by exchange and process
  uint32_t exchanges_ TUTTI_OWNERS = 0;
  std::chrono::nanoseconds asked_at_ TUTTI_OWNERS{};  // how long the wait had lasted then
  Trace trace_;
  Standstill standstill_;
};

}  // namespace tutti::contract
