// SPDX-License-Identifier: BSD-3-Clause
// The engine of one process: posts sends and receives, matches, delivers. One thread at a time owns
// it (Engine::Guard); the progress thread is one more owner (wait/progress.hpp). How threads wait for
// it is the waiter's matter (wait/waiter.hpp). Knows contexts and process ids, nothing of
// communicators or MPI handles.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/by_process.hpp"
#include "engine/active.hpp"
#include "engine/condition.hpp"
#include "engine/matcher.hpp"
#include "engine/observer.hpp"
#include "engine/operation.hpp"
#include "engine/wait/poller.hpp"
#include "engine/wait/waiter.hpp"
#include "transport/transport.hpp"

namespace tutti::engine {

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
  void enter() { waiter_.enter(); }
  void leave() { waiter_.leave(pending() > 0); }

  // A standard send that is over when it returns true: short, in one run, to another process, when
  // the transport has room. Otherwise nothing has happened.
  // `pattern`: SendOperation's.
  bool send_at_once(int to, const Match& match, const Payload& payload, uint16_t pattern = 0, uint64_t signature = 0);
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
  bool recv_at_once(int from, const Match& match, const Payload& payload, Outcome& outcome, bool waits);

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
  std::unique_ptr<Unexpected> take(const Match& match) { return std::unique_ptr<Unexpected>(matcher_.take(match)); }
  void receive_taken(std::unique_ptr<Unexpected> message, RecvOperation& operation);

  bool progress() {  // one pass; true if anything happened
    begin_pass();
    bool moved = transport_->progress();
    if (!pollers_.empty()) moved |= pollers_.poll();
    return moved;
  }
  bool progress_here(int calls = 1);  // the same, see transport::Transport
  // A call was over at once, perhaps without a pass: one of so many makes one, or nothing else would be asked for
  // while a program makes no other calls, and the progress thread seldom finds the engine free. True: this one has.
  bool over_at_once(int calls_per_pass = 64) {
    if (++at_once_ < calls_per_pass) [[likely]]
      return false;
    progress_here(std::exchange(at_once_, 0));
    return true;
  }
  // Asks for flags alone, before a sleep; true if anything happened.
  bool poll_flags() { return pollers_.poll(); }

  // Of a call that has asked in vain (MPI_Test) and does not own the engine: with more ranks than cores
  // what it asks for cannot come while it runs, and it is likely to ask again at once.
  void give_way() {
    if (waiting().is_crowded()) [[unlikely]]
      Waiter::yield();
  }

  void wait_for_thread(int change) { waiter_.wait_for_thread(change); }

  using Chore = engine::Chore;
  bool helper_drives() const { return waiter_.helper_drives(); }
  void leave_to_application(Chore& chore) { waiter_.leave_to_application(chore); }  // not twice before it is performed

  // Asked amid what takes long, in pieces of some microseconds: does another thread wait for its turn,
  // or sleep while this one sees to its work, or has one done so lately? Then the rest is for a later
  // pass.
  bool takes_turns() override { return waiter_.takes_turns(); }

  // For a blocking call that can look by itself for what it waits for, before it waits as all do: true once
  // look(looks), which looks up to so many times, says that it has seen all of it. Makes a pass for everything else
  // only now and then; ends without it after a while, when another thread asks for the engine, and when the look has
  // seen something other. `between_yields`: also where ranks share cores, a look at a time.
  template <class Look>
  bool look_out(Look&& look, bool between_yields = false) {
    const bool crowded = waiting().is_crowded();
    if (crowded && !between_yields) return false;
    waiter_.stay_awake();
    const int looks = crowded ? 1 : Waiter::kLooksPerPass;
    int left = crowded ? Waiter::kMostYields : std::min(waiting().polls, Waiter::kMostLooks);
    for (; left > 0; left -= looks) {
      if (crowded) waiter_.yield_core();
      const Seen seen = look(looks);
      if (seen != Seen::nothing) return seen == Seen::all;
      if (ownership().contended()) return false;
      if (!crowded)
        progress_here();
      else if (left % Waiter::kYieldsPerPass == 0)
        progress();
    }
    return false;
  }

  // Progresses until `done` is true, which is asked with the engine owned, by any thread, and once
  // more by this one before it returns. Polls, then yields,
  // then sleeps; lets other threads in that ask for the engine. Called with the engine owned,
  // returns with it owned. `needs(condition)` adds whose action it waits for.
  template <class Done, class Needs>
  void wait_until(Done&& done, Needs&& needs) {
    auto* explain = &needs;
    Blocked blocked{[](void* n, Condition& c) { (**static_cast<decltype(explain)*>(n))(c); }, &explain};
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

  Observer* observer() const { return observer_; }
  // nullptr: nobody looks on. Outlives the engine, or is taken away before.
  void set_observer(Observer* observer) { observer_ = observer; }
  // To the observer of process `to`: header.tag, and what both sides make of the other fields but
  // `context`, `process` and `order`. Neither blocks nor tells when it has left. One that may be lost is, without an
  // error, where there is no connection and none can be made (transport::Transport::way_to).
  void send_control(int to, transport::Header header, std::string bytes = {}, bool may_be_lost = true);
  // Handles active messages from now on; outlives the engine, or is taken away with nullptr.
  void set_active_handler(ActiveHandler* handler);
  // To the handler of process `to`, perhaps this one: `bytes` at `data`, which is copied, and of
  // the header source, tag, serial, ticket and signature. Neither blocks nor tells when it has
  // left.
  void send_active(int to, transport::Header header, const std::byte* data = nullptr, int64_t bytes = 0);
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

  const Ownership& ownership() const { return waiter_.ownership(); }  // where threads queue for their turn
  const Blocked* blocked() const { return waiter_.blocked(); }
  const UnderWay* under_way() const { return under_way_; }
  // Changes with every event that may let a blocked thread go on, and when threads begin to sleep.
  uint64_t events() const { return events_; }
  bool moving() const { return fetching_ > 0; }  // bytes are on their way into my memory
  // visit(process, sent, received), by process: messages so far, without control messages, and without those
  // with whom only these were exchanged.
  template <class Visit>
  void each_peer(Visit&& visit) const {
    for (const PeerOrder* p : peers_in_order()) {
      const uint32_t sent = p->next_out - p->told, received = p->next_in - p->heard;
      if (sent | received) visit(p->process, sent, received);
    }
  }
  // Processes of which it keeps anything: those that this one has spoken to, or that have spoken to it.
  size_t peers() const { return peers_.size(); }

  int process() const { return process_; }
  const Waiting& waiting() const { return waiter_.waiting(); }
  transport::Transport& transport() { return *transport_; }

 private:
  friend class ProgressThread;  // helps by its waiter
  struct Parked;                // messages that arrived before their predecessors
  struct Active;                // active.cpp
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
  void begin_pass() { waiter_.begin_pass(); }
  struct Copied;
  bool send_copy(SendOperation& operation);
  template <class Done>
  void wait_until(Done& done, Blocked& blocked) {
    if (done() && (!over_at_once() || done())) return;
    Waiter::Wait wait(
        waiter_, [](void* d) { return static_cast<bool>((*static_cast<Done*>(d))()); },
        const_cast<std::remove_const_t<Done>*>(&done), blocked);
    do wait.after_pass(progress());
    while (!done());
  }

  struct PeerOrder {
    int process = 0;
    uint32_t next_out = 0;  // Header::order of the next message to it
    uint32_t next_in = 0;   // and of the next one from it
    uint32_t told = 0;      // how many of these were control messages
    uint32_t heard = 0;
  };
  PeerOrder& peer(int process) {
    PeerOrder* const* const known = known_.find(process);
    return known ? **known : meet(process);
  }
  [[gnu::noinline]] PeerOrder& meet(int process);
  std::vector<const PeerOrder*> peers_in_order() const;
  transport::Header next_header(int to, transport::Kind kind);

  transport::Transport* transport_;
  const int process_;
  Matcher matcher_;
  Observer* observer_ = nullptr;
  NewsHandler news_ = nullptr;
  Pollers pollers_;
  int64_t pending_ = 0;
  int at_once_ = 0;  // calls that were, and for which no pass has been made yet
  uint64_t last_ticket_ = 0;
  std::unordered_map<uint64_t, SendOperation*> tickets_;  // sends whose answer is awaited
  std::deque<PeerOrder> peers_;                           // those to whom anything was sent, or of whom anything came
  ByProcess<PeerOrder*> known_;
  std::unique_ptr<Parked> parked_;
  std::unique_ptr<Active, ActiveDeleter> active_;  // nullptr: nobody has asked
  Manner manner_ = Manner::usual;
  int64_t copied_ = 0;  // bytes of messages that were over when they were sent
  UnderWay* under_way_ = nullptr;
  uint64_t events_ = 0;
  int fetching_ = 0;

  Waiter waiter_;
};

}  // namespace tutti::engine
