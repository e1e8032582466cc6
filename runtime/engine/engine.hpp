// SPDX-License-Identifier: BSD-3-Clause
// The engine of one process: posts sends and receives, matches, progresses, waits. One thread at
// a time owns it (Engine::Guard); the progress thread is one more owner (progress.hpp). Knows
// contexts and process ids, nothing of communicators or MPI handles.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/active.hpp"
#include "engine/condition.hpp"
#include "engine/matcher.hpp"
#include "engine/observer.hpp"
#include "engine/operation.hpp"
#include "engine/wait/alarm.hpp"
#include "engine/wait/allowance.hpp"
#include "engine/wait/ownership.hpp"
#include "engine/wait/poller.hpp"
#include "transport/transport.hpp"

namespace tutti::flight {
struct Thread;
}

namespace tutti::engine {

// How a thread waits that has nothing to do: progress passes before the first yield (few if ranks
// exceed cores), then yields, then sleep on the transport's descriptor.
struct Waiting {
  static constexpr int kForEver = 1'000'000'000;
  // About a millisecond. A yield hands a whole slice to whatever else runs on the core: a barrier of
  // two ranks beside two busy processes took 2100 us with 100 polls, 5 with these.
  int polls = 20'000;
  int yields = 2000;
  bool spreads = false;  // ranks that yield move to where fewer are: Transport::spread()
  bool adapts = true;    // who has lost its core while it waited sleeps early for a while
};

// A thread in wait_until(). What it needs is asked for only when it has stood still for long.
struct Blocked {
  void (*explain)(void* why, Condition& needs) = nullptr;  // nullptr: nobody knows
  void* why = nullptr;
  const flight::Thread* call = nullptr;  // what it is in; nullptr: not recorded
  int thread = 0;                        // the kernel's id of it
  Blocked *next = nullptr, *previous = nullptr;
  bool listed = false;  // it has been idle for so long that it sleeps
};

// Something that goes on while no thread waits for it: a collective.
struct UnderWay {
  // Adds whose action it needs next, side by side.
  void (*explain)(const UnderWay&, Condition& needs) = nullptr;
  uint64_t context = 0;
  uint32_t serial = 0;
  UnderWay *next = nullptr, *previous = nullptr;
};

class Engine final : private transport::Receiver {
 public:
  // `process`: my process id. The transport outlives the engine.
  Engine(transport::Transport& transport, int process, Waiting waiting = {});
  ~Engine();
  Engine(const Engine&) = delete;

  // Owns the engine for a scope. Every member below needs it unless it says otherwise.
  class Guard {
   public:
    explicit Guard(Engine& engine) : engine_(engine) { engine_.enter(); }
    ~Guard() { engine_.leave(); }
    Guard(const Guard&) = delete;

   private:
    Engine& engine_;
  };
  void enter() { ownership_.acquire(); }
  void leave() {
    const bool work = pending() > 0;
    if (sleepers_.load(std::memory_order_relaxed) > 0) [[unlikely]] leave_to_sleepers();
    has_work_.store(work, std::memory_order_relaxed);
    const Helper helper = helper_.load(std::memory_order_relaxed);
    if (helper != Helper::watching && (work || helper == Helper::asleep)) [[unlikely]]
      leave_to(helper, work);
    ownership_.release();
  }

  // A standard send that is over when it returns true: short, in one run, to another process, when
  // the transport has room. Otherwise nothing has happened.
  // `pattern`: SendOperation's.
  bool send_at_once(int to, const Match& match, const Payload& payload, uint16_t pattern = 0,
                    uint64_t signature = 0);
  // `manner`: other than usual only over a transport without send_now().
  void set_manner(Manner manner) { manner_ = manner; }
  // Wildcard receives take any of the messages that they may take, by chance.
  void shuffle(uint64_t seed) { matcher_.shuffle(seed); }

  // Whether recv_at_once() without waiting is worth a try: where others are posted, messages are
  // more likely to be theirs.
  bool may_be_there() const { return matcher_.is_empty(); }
  // A receive that is over when it returns true: of a short message in one run that is the next one
  // of process `from`, and is there, or with `waits` comes soon. Otherwise nothing has happened, and
  // the receive is to be posted. Not for wildcards.
  bool recv_at_once(int from, const Match& match, const Payload& payload, Outcome& outcome,
                    bool waits);

  void send(SendOperation& operation);
  [[gnu::always_inline]] void recv(RecvOperation& operation) {
    if (matcher_.unexpected() > 0 && receive_unexpected(operation)) return;
    ++pending_;
    matcher_.post(operation);
  }
  // Withdraws a receive that has not matched: completes it as cancelled and returns true.
  bool cancel(RecvOperation& operation);
  // Asks the receiver to forget a message not matched yet; the operation completes either way.
  void cancel(SendOperation& operation);

  // The first unexpected message that fits, or nullptr; it stays where it is.
  const Unexpected* probe(const Match& match) const { return matcher_.find(match); }
  // The same, taken out of matching: belongs to the caller until receive_taken().
  std::unique_ptr<Unexpected> take(const Match& match) {
    return std::unique_ptr<Unexpected>(matcher_.take(match));
  }
  void receive_taken(std::unique_ptr<Unexpected> message, RecvOperation& operation);

  bool progress() {  // one pass; true if anything happened
    begin_pass();
    bool moved = transport_->progress();
    if (!pollers_.empty()) moved |= pollers_.poll();
    return moved;
  }
  bool progress_here();  // the same, see transport::Transport

  // Of a call that has asked in vain (MPI_Test) and does not own the engine: with more ranks than cores
  // what it asks for cannot come while it runs, and it is likely to ask again at once.
  void give_way() {
    if (waiting_.polls <= 1) [[unlikely]]
      yield();
  }
  static void yield();
  // Of one that owns it and waits.
  void yield_core();

  // Of a thread that is about to poll by itself: nobody need ring for what it sees.
  void stay_awake() {
    if (armed_) [[unlikely]]
      disarm();
  }

  // Work that must not be done on the progress thread, such as calling a user's function where the
  // program has not asked for MPI_THREAD_MULTIPLE: an application thread does it in its next pass.
  struct Chore {
    void (*perform)(Chore&) = nullptr;
    Chore* next = nullptr;  // the engine's own
  };
  bool helper_drives() const { return helper_drives_; }
  void leave_to_application(Chore& chore);  // not twice before it is performed

  // Asked amid what takes long, in pieces of some microseconds: does another thread wait for its turn,
  // or sleep while this one sees to its work, or has one done so lately? Then the rest is for a later
  // pass.
  bool takes_turns() override {
    if (ownership_.contended() || sleepers_.load(std::memory_order_relaxed) > 0) {
      turns_ = kTurnsRemembered;
      return true;
    }
    if (turns_ == 0) return false;
    --turns_;
    return true;
  }

  // Progresses until `done` is true, which is asked with the engine owned, by any thread, and once
  // more by this one before it returns. Polls, then yields,
  // then sleeps; lets other threads in that ask for the engine. Called with the engine owned,
  // returns with it owned. `needs(condition)` adds whose action it waits for.
  template <class Done, class Needs>
  void wait_until(Done&& done, Needs&& needs) {
    auto* explain = &needs;
    Blocked blocked{[](void* n, Condition& c) { (**static_cast<decltype(explain)*>(n))(c); },
                    &explain};
    wait_until(done, blocked);
  }
  // For what no other process has to act for, or nobody knows which one: never part of a deadlock.
  template <class Done>
  void wait_until(Done&& done) {
    Blocked blocked;
    wait_until(done, blocked);
  }

  // Work that needs progress though no thread waits for it: posted operations count themselves;
  // a collective counts itself while it runs. This is what the progress thread looks at.
  void add_pending() { ++pending_; }
  void remove_pending() { --pending_; }
  void add(UnderWay& what) {
    ++pending_;
    what.previous = nullptr;
    what.next = under_way_;
    if (under_way_) under_way_->previous = &what;
    under_way_ = &what;
  }
  void remove(UnderWay& what) {
    --pending_;
    (what.previous ? what.previous->next : under_way_) = what.next;
    if (what.next) what.next->previous = what.previous;
  }
  int64_t pending() const { return pending_ + matcher_.held(); }

  // nullptr: nobody looks on. Outlives the engine, or is taken away before.
  void set_observer(Observer* observer) { observer_ = observer; }
  // To the observer of process `to`: header.tag, and what both sides make of the other fields but
  // `context`, `process` and `order`. Neither blocks nor tells when it has left.
  void send_control(int to, transport::Header header, std::string bytes = {});
  // Handles active messages from now on; outlives the engine, or is taken away with nullptr.
  void set_active_handler(ActiveHandler* handler);
  // To the handler of process `to`, perhaps this one: `bytes` at `data`, which is copied, and of
  // the header source, tag, serial, ticket and signature. Neither blocks nor tells when it has
  // left.
  void send_active(int to, transport::Header header, const std::byte* data = nullptr,
                   int64_t bytes = 0);
  // A word to process `to` of the same job, in a header alone: its tag and ticket. It comes in order with all else,
  // and goes to the function that is set there, with the engine owned.
  using NewsHandler = void (*)(const transport::Header& news);
  void set_news_handler(NewsHandler handler) { news_ = handler; }
  void send_news(int to, int tag, uint64_t ticket);
  // From here on messages go this way. What is under way on the old one, which `transport` includes, goes on.
  void switch_transport(transport::Transport& transport);
  // Completes, with an error of this class, the receives that `of_context` names by their match's context, and what
  // waits for an answer of a process that `by_process` names. True if there was something.
  using Names = bool (*)(void* argument, uint64_t which);
  bool fail(Names of_context, Names by_process, void* argument, int mpi_class);
  const Matcher& matcher() const { return matcher_; }
  const Pollers& pollers() const { return pollers_; }

  // Asked in each pass until removed.
  void add_poller(Poller& poller) { pollers_.add(poller); }
  void remove_poller(Poller& poller) { pollers_.remove(poller); }
  void note_event() { ++events_; }  // a collective or a window has gone on
  // ---- what an observer asks

  const Ownership& ownership() const { return ownership_; }  // where threads queue for their turn
  const Blocked* blocked() const { return blocked_; }
  const UnderWay* under_way() const { return under_way_; }
  // Changes with every event that may let a blocked thread go on, and when threads begin to sleep.
  uint64_t events() const { return events_; }
  bool moving() const { return fetching_ > 0; }  // bytes are on their way into my memory
  // visit(process, sent, received): messages so far, without control messages.
  template <class Visit>
  void each_peer(Visit&& visit) const {
    for (size_t i = 0; i < peers_.size(); ++i)
      if (const Peer& p = peers_[i]; p.next_out | p.next_in)
        visit(static_cast<int>(i), p.next_out - p.told, p.next_in - p.heard);
  }

  int process() const { return process_; }
  const Waiting& waiting() const { return waiting_; }
  transport::Transport& transport() { return *transport_; }

 private:
  friend class ProgressThread;
  struct Parked;  // messages that arrived before their predecessors
  struct Active;  // active.cpp
  struct ActiveDeleter {
    void operator()(Active* active) const;
  };
  Active& active();
  void receive_active(const transport::Arrival& arrival);
  void handle_active(const transport::Header& header, const std::byte* data);
  void handle_own();
  void fetch_active(int from);
  void go_on_with(int from, bool first_is_good);

  void arrived(const transport::Arrival& arrival) override;
  void unsent(int more) override { pending_ += more; }
  void deliver(const transport::Arrival& arrival);
  bool receive_unexpected(RecvOperation& operation);
  [[gnu::cold]] void deliver_parked(int32_t from);
  void receive_message(const transport::Arrival& arrival);
  bool observed(const transport::Arrival& arrival);
  void fetch_control(const transport::Arrival& arrival);
  void satisfy(RecvOperation& operation, const transport::Arrival& arrival);
  void fetch_into(RecvOperation& operation, const transport::Arrival& arrival);
  void satisfy_from_self(RecvOperation& operation, SendOperation& send);
  void withdraw_message(const transport::Header& request);
  void send_to_self(SendOperation& operation);
  void finish_recv(RecvOperation& operation);
  void send_progressed(SendOperation& operation);
  void complete(Operation& operation);
  // A thread that sleeps in its call, until its own bell rings, or, if it listens, something comes.
  // Others ask whether it can go on; when it wakes it asks itself, because by then it may have become
  // false again.
  struct Sleeper {
    bool (*done)(void*);
    void* argument;
    int bell = -1;         // an eventfd; -1: there was no descriptor left, and it looks often
    bool told = false;     // its bell has rung: it is on its way
    bool listens = false;  // to the transport
    bool has_slept = false;
    Sleeper* next = nullptr;
  };
  void wake(Sleeper& sleeper);
  void wake_those_done();
  bool someone_is_told() const;
  bool someone_listens() const;
  void wake_one();
  void leave_to_sleepers();
  void begin_pass() {
    passes_.store(passes_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    taken_ = 0;
    if (first_chore_ && !helper_drives_) [[unlikely]]
      do_chores();
  }
  bool pass_before(const Match& match);
  struct Copied;
  bool send_copy(SendOperation& operation);
  template <class Done>
  void wait_until(Done&& done, Blocked& blocked) {
    auto* ask = &done;
    wait([](void* d) { return static_cast<bool>((**static_cast<decltype(ask)*>(d))()); }, &ask,
         blocked);
  }
  void wait(bool (*done)(void*), void* argument, Blocked& blocked);
  void list(Blocked& blocked);
  void unlist(Blocked& blocked);
  void sleep_until_something(Sleeper& me);
  void sleep(Sleeper& me, bool listens);
  unsigned yields_ = 0;
  using Time = std::chrono::steady_clock::time_point;
  Time spreads_from_{};  // the next look where the others are is not before this
  bool shares_ = false;  // its core, as far as it knows
  Time shares_until_{};
  std::chrono::milliseconds share_remembered_{};
  bool shares_core();
  bool has_lost_core(Time& last);
  bool arm();
  void do_chores();

  // What the progress thread does, and what it wants of a thread that leaves.
  enum class Helper : uint8_t {
    watching,  // looks soon whether the application is away: nothing
    dozing,    // looks after a while: a ring if work is left behind
    asleep,    // does not look: the alarm must be set when the application is gone
  };
  void leave_to(Helper helper, bool work);
  bool set_alarm(int attempts);
  void disarm();
  enum class Ring : uint8_t { work = 1, busy = 2 };  // something to do; calls made all the time
  void ring_doorbell(Ring why);

  struct Peer {
    uint32_t next_out = 0;  // Header::order of the next message to it
    uint32_t next_in = 0;   // and of the next one from it
    uint32_t told = 0;      // how many of these were control messages
    uint32_t heard = 0;
  };
  Peer& peer(int process) {
    const auto at = static_cast<size_t>(process);
    if (at >= peers_.size()) [[unlikely]] peers_.resize(at + 1);
    return peers_[at];
  }
  transport::Header next_header(int to, transport::Kind kind);

  transport::Transport* transport_;
  const int process_;
  const Waiting waiting_;
  Ownership ownership_;
  Matcher matcher_;
  Observer* observer_ = nullptr;
  NewsHandler news_ = nullptr;
  Pollers pollers_;
  int64_t pending_ = 0;
  int taken_ = 0;  // by recv_at_once() since the last pass
  static constexpr int kTurnsRemembered = 64;
  int turns_ = 0;  // takes_turns() remembers so many times more
  uint64_t last_ticket_ = 0;
  std::unordered_map<uint64_t, SendOperation*> tickets_;  // sends whose answer is awaited
  std::vector<Peer> peers_;  // by process id, as far as anything was sent or received
  std::unique_ptr<Parked> parked_;
  std::unique_ptr<Active, ActiveDeleter> active_;  // nullptr: nobody has asked
  std::atomic<int> sleepers_{0};  // threads in sleep(); changed by the engine's owner
  Sleeper* asleep_ = nullptr;     // the same
  std::vector<int> bells_;        // of those who have woken
  std::atomic<bool> unattended_{false};  // they hear nothing: another thread has seen to them lately

  Manner manner_ = Manner::usual;
  int64_t copied_ = 0;  // bytes of messages that were over when they were sent
  Blocked* blocked_ = nullptr;
  UnderWay* under_way_ = nullptr;
  uint64_t events_ = 0;
  int fetching_ = 0;

  Chore* first_chore_ = nullptr;
  Chore* last_chore_ = nullptr;
  bool helper_drives_ = false;  // the owner is the progress thread

  // What the progress thread sees without owning the engine; written by its owner.
  std::atomic<uint64_t> passes_{0};  // of progress(): a call that makes none leaves work undone
  std::atomic<bool> has_work_{false};
  std::atomic<bool> has_helper_{false};
  // Changed by the progress thread; asleep only while it owns the engine, so that nobody leaves
  // without seeing that. Whoever rings it sets it to watching.
  std::atomic<Helper> helper_{Helper::watching};
  Alarm alarm_;
  bool armed_ = false;       // the transport tells, or has told, of what comes
  bool by_flags_ = false;    // of flags, too
  int leaves_collectives_ = 0;  // the program has left one under way; counts down what it has not since
  Allowance alarms_;         // to be set by threads that leave, instead of waking the helper
  int doorbell_fd_ = -1;
};

}  // namespace tutti::engine
