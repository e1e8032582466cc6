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
#include "base/engine_owned.hpp"
#include "engine/active.hpp"
#include "engine/judge.hpp"
#include "engine/matcher.hpp"
#include "engine/observer.hpp"
#include "engine/operation.hpp"
#include "engine/wait/poller.hpp"
#include "engine/wait/waiter.hpp"
#include "life/blocked.hpp"
#include "life/sinks.hpp"
#include "transport/transport.hpp"

namespace tutti::engine {

// Large: matching, the order of messages, those to itself and active messages are on the path of each message and change
// the same few counters there, which a call across objects would cost.
class Engine final : private transport::Receiver {
 public:
  // `process`: my process id. The transport outlives the engine.
  Engine(transport::Transport& transport, int process, Waiting waiting = {});
  ~Engine();
  Engine(const Engine&) = delete;

  // Owns the engine for a scope.
  class TUTTI_SCOPED_CAPABILITY Guard {
   public:
    explicit Guard(Engine& engine) TUTTI_ACQUIRES(engine_owned) : engine_(engine) { engine_.enter(); }
    ~Guard() TUTTI_RELEASES() { engine_.leave(); }
    Guard(const Guard&) = delete;

   private:
    Engine& engine_;
  };
  void enter() TUTTI_ACQUIRES(engine_owned) { waiter_.enter(); }
  void leave() TUTTI_RELEASES(engine_owned) { waiter_.leave(pending() > 0); }

  // A standard send that is over when it returns true: short, in one run, to another process, when
  // the transport has room. Otherwise nothing has happened.
  // `pattern`: SendOperation's.
  bool send_at_once(int to, const Match& match, const Payload& payload, uint16_t pattern = 0,
                    uint64_t signature = 0) TUTTI_ENGINE_OWNED;
  // `manner`: other than usual only over a transport without send_now().
  void set_manner(Manner manner) TUTTI_ENGINE_OWNED { manner_ = manner; }
  // Wildcard receives take any of the messages that they may take, by chance.
  void shuffle(uint64_t seed) TUTTI_ENGINE_OWNED { matcher_.shuffle(seed); }

  // Whether recv_at_once() without waiting is worth a try: where others are posted, messages are
  // more likely to be theirs.
  bool may_be_there() const TUTTI_ENGINE_OWNED { return matcher_.is_empty(); }
  // A receive that is over when it returns true: of a short message in one run that is the next one
  // of process `from`, and is there, or with `waits` comes soon. Otherwise nothing has happened, and
  // the receive is to be posted. Not for wildcards.
  bool recv_at_once(int from, const Match& match, const Payload& payload, Outcome& outcome,
                    bool waits) TUTTI_ENGINE_OWNED;

  void send(SendOperation& operation) TUTTI_ENGINE_OWNED;
  [[gnu::always_inline]] void recv(RecvOperation& operation) TUTTI_ENGINE_OWNED {
    if (judge_) [[unlikely]]
      return recv_judged(operation);
    if (matcher_.unexpected() > 0 && receive_unexpected(operation)) return;
    ++pending_;
    matcher_.post(operation);
    if (life::is_wanted(life::Happening::operation_posted)) [[unlikely]]
      tell_posted(operation);
  }
  // Withdraws a receive that has not matched: completes it as cancelled and returns true.
  bool cancel(RecvOperation& operation) TUTTI_ENGINE_OWNED;
  // Asks the receiver to forget a message not matched yet; the operation completes either way.
  void cancel(SendOperation& operation) TUTTI_ENGINE_OWNED;

  // The first unexpected message that fits, or nullptr; it stays where it is.
  const Unexpected* probe(const Match& match) const TUTTI_ENGINE_OWNED { return matcher_.find(match); }
  // The same, taken out of matching: belongs to the caller until receive_taken().
  std::unique_ptr<Unexpected> take(const Match& match) TUTTI_ENGINE_OWNED {
    return std::unique_ptr<Unexpected>(matcher_.take(match));
  }
  void receive_taken(std::unique_ptr<Unexpected> message, RecvOperation& operation) TUTTI_ENGINE_OWNED;

  bool progress() TUTTI_ENGINE_OWNED {  // one pass; true if anything happened
    begin_pass();
    bool moved = transport_->progress();
    if (!pollers_.empty()) moved |= pollers_.poll();
    return moved;
  }
  bool progress_here(int calls = 1) TUTTI_ENGINE_OWNED;  // the same, see transport::Transport
  // A call was over at once, perhaps without a pass: one of so many makes one, or nothing else would be asked for
  // while a program makes no other calls, and the progress thread seldom finds the engine free. True: this one has.
  bool over_at_once(int calls_per_pass = 64) TUTTI_ENGINE_OWNED {
    if (++at_once_ < calls_per_pass) [[likely]]
      return false;
    progress_here(std::exchange(at_once_, 0));
    return true;
  }
  // Asks for flags alone, before a sleep; true if anything happened.
  bool poll_flags() TUTTI_ENGINE_OWNED { return pollers_.poll(); }

  // Of a call that has asked in vain (MPI_Test) and does not own the engine: with more ranks than cores
  // what it asks for cannot come while it runs, and it is likely to ask again at once.
  void give_way() {
    if (waiting().is_crowded()) [[unlikely]]
      Waiter::yield();
  }

  void wait_for_thread(int change) TUTTI_ENGINE_OWNED { waiter_.wait_for_thread(change); }

  using Chore = engine::Chore;
  bool helper_drives() const TUTTI_ENGINE_OWNED { return waiter_.helper_drives(); }
  void leave_to_application(Chore& chore) TUTTI_ENGINE_OWNED {
    waiter_.leave_to_application(chore);
  }  // not twice before it is performed

  // Asked amid what takes long, in pieces of some microseconds: does another thread wait for its turn,
  // or sleep while this one sees to its work, or has one done so lately? Then the rest is for a later
  // pass.
  bool takes_turns() override TUTTI_ENGINE_OWNED { return waiter_.takes_turns(); }
  Driver driver() override TUTTI_ENGINE_OWNED {
    return waiter_.someone_waits() ? Driver::waits : helper_drives() ? Driver::helper : Driver::calls;
  }

  // For a blocking call that can look by itself for what it waits for, before it waits as all do: true once
  // look(looks), which looks up to so many times, says that it has seen all of it. Makes a pass for everything else
  // only now and then; ends without it after a while, when another thread asks for the engine, and when the look has
  // seen something other. `between_yields`: also where ranks share cores, a look at a time.
  template <class Look>
  bool look_out(Look&& look, bool between_yields = false) TUTTI_ENGINE_OWNED {
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
  // more by this one before it returns. Polls, then yields, then sleeps; lets other threads in that ask for the
  // engine, and returns with it owned. `needs(condition)` adds whose action it waits for.
  template <class Done, class Needs>
  void wait_until(Done&& done, Needs&& needs) TUTTI_ENGINE_OWNED {
    auto* explain = &needs;
    life::Blocked blocked{
        [](void* n, life::Condition& c) TUTTI_ENGINE_OWNED { (**static_cast<decltype(explain)*>(n))(c); }, &explain};
    wait_until(done, blocked);
  }
  // For what no other process has to act for, or nobody knows which one: never part of a deadlock.
  template <class Done>
  void wait_until(Done&& done) TUTTI_ENGINE_OWNED {
    life::Blocked blocked;
    wait_until(done, blocked);
  }

  // Work that needs progress though no thread waits for it: posted operations count themselves;
  // a collective counts itself while it runs. This is what the progress thread looks at.
  void add_pending() TUTTI_ENGINE_OWNED { ++pending_; }
  void remove_pending() TUTTI_ENGINE_OWNED { --pending_; }
  void add(life::UnderWay& what) TUTTI_ENGINE_OWNED {
    ++pending_;
    what.previous = nullptr;
    what.next = under_way_;
    if (under_way_) under_way_->previous = &what;
    under_way_ = &what;
  }
  void remove(life::UnderWay& what) TUTTI_ENGINE_OWNED {
    --pending_;
    (what.previous ? what.previous->next : under_way_) = what.next;
    if (what.next) what.next->previous = what.previous;
  }
  int64_t pending() const TUTTI_ENGINE_OWNED { return pending_ + matcher_.held(); }

  Observer* observer() const TUTTI_ENGINE_OWNED { return observer_; }
  // nullptr: nobody looks on. Outlives the engine, or is taken away before.
  void set_observer(Observer* observer) TUTTI_ENGINE_OWNED { observer_ = observer; }
  // To the observer of process `to`: header.tag, and what both sides make of the other fields but
  // `context`, `process` and `order`. Neither blocks nor tells when it has left. One that may be lost is, without an
  // error, where there is no connection and none can be made (transport::Transport::way_to).
  void send_control(int to, transport::Header header, std::string bytes = {},
                    bool may_be_lost = true) TUTTI_ENGINE_OWNED;
  // Handles active messages from now on; outlives the engine, or is taken away with nullptr.
  void set_active_handler(ActiveHandler* handler) TUTTI_ENGINE_OWNED;
  // To the handler of process `to`, perhaps this one: `bytes` at `data`, which is copied, and of
  // the header source, tag, serial, ticket and signature. Neither blocks nor tells when it has
  // left.
  void send_active(int to, transport::Header header, const std::byte* data = nullptr,
                   int64_t bytes = 0) TUTTI_ENGINE_OWNED;
  // The same between handlers of their own, which speak of the failures of processes and hear nothing else.
  void set_survival_handler(ActiveHandler* handler) TUTTI_ENGINE_OWNED;
  void send_of_survival(int to, const transport::Header& header, const std::byte* data,
                        int64_t bytes) TUTTI_ENGINE_OWNED;
  // A word to process `to` of the same job, in a header alone: its tag and ticket. It comes in order with all else,
  // and goes to the function that is set there, with the engine owned.
  using NewsHandler = void (*)(const transport::Header& news);
  void set_news_handler(NewsHandler handler) TUTTI_ENGINE_OWNED { news_ = handler; }
  void send_news(int to, int tag, uint64_t ticket) TUTTI_ENGINE_OWNED;
  // From here on messages go this way. What is under way on the old one, which `transport` includes, goes on.
  void switch_transport(transport::Transport& transport) TUTTI_ENGINE_OWNED;
  // Completes, with an error of this class, the receives that `of_context` names by their match's context, and what
  // waits for an answer of a process that `by_process` names. True if there was something.
  using Names = bool (*)(void* argument, uint64_t which);
  bool fail(Names of_context, Names by_process, void* argument, int mpi_class) TUTTI_ENGINE_OWNED;
  // From here on it is asked; outlives the engine, or is taken away with nullptr.
  void set_judge(Judge* judge) TUTTI_ENGINE_OWNED { judge_ = judge; }
  // From here on sends that are not over at once are kept in a list, of which those of a context can be withdrawn. They end
  // with an error of that class unless their receiver has matched them.
  void keep_sends() TUTTI_ENGINE_OWNED { keeps_sends_ = true; }
  void withdraw_sends(uint64_t context, int mpi_class) TUTTI_ENGINE_OWNED;
  // A receive that is posted ends with an error of this class.
  void fail(RecvOperation& receive, int mpi_class) TUTTI_ENGINE_OWNED;
  // What waits for an answer of a process does.
  void fail_answers_of(int process, int mpi_class) TUTTI_ENGINE_OWNED;
  const Matcher& matcher() const TUTTI_ENGINE_OWNED { return matcher_; }
  const Pollers& pollers() const TUTTI_ENGINE_OWNED { return pollers_; }

  // Asked in each pass until removed.
  void add_poller(Poller& poller) TUTTI_ENGINE_OWNED { pollers_.add(poller); }
  void remove_poller(Poller& poller) TUTTI_ENGINE_OWNED { pollers_.remove(poller); }
  void note_event() TUTTI_ENGINE_OWNED { ++events_; }  // a collective or a window has gone on
  // ---- what an observer asks

  const Ownership& ownership() const { return waiter_.ownership(); }  // where threads queue for their turn
  const life::Blocked* blocked() const TUTTI_ENGINE_OWNED { return waiter_.blocked(); }
  const life::UnderWay* under_way() const TUTTI_ENGINE_OWNED { return under_way_; }
  // Changes with every event that may let a blocked thread go on, and when threads begin to sleep.
  uint64_t events() const TUTTI_ENGINE_OWNED { return events_; }
  // Grows with every control message that has come, and that has gone.
  uint64_t control_messages() const TUTTI_ENGINE_OWNED { return control_messages_; }
  bool moving() const TUTTI_ENGINE_OWNED { return fetching_ > 0; }  // bytes are on their way into my memory
  // visit(process, sent, received), by process: messages so far, without control messages, and without those
  // with whom only these were exchanged.
  template <class Visit>
  void each_peer(Visit&& visit) const TUTTI_ENGINE_OWNED {
    for (const PeerOrder* p : peers_in_order()) {
      const uint32_t sent = p->next_out - p->told, received = p->next_in - p->heard;
      if (sent | received) visit(p->process, sent, received);
    }
  }
  // Processes of which it keeps anything: those that this one has spoken to, or that have spoken to it.
  size_t peers() const TUTTI_ENGINE_OWNED { return peers_.size(); }

  int process() const { return process_; }
  const Waiting& waiting() const { return waiter_.waiting(); }
  transport::Transport& transport() TUTTI_ENGINE_OWNED { return *transport_; }

 private:
  friend class ProgressThread;  // helps by its waiter
  struct Parked;                // messages that arrived before their predecessors
  struct Active;                // active.cpp
  struct ActiveDeleter {
    void operator()(Active* active) const;
  };
  Active& active() TUTTI_ENGINE_OWNED;
  void send_active_in(uint64_t context, int to, transport::Header header, const std::byte* data,
                      int64_t bytes) TUTTI_ENGINE_OWNED;
  void receive_active(const transport::Arrival& arrival) TUTTI_ENGINE_OWNED;
  void handle_active(const transport::Header& header, const std::byte* data) TUTTI_ENGINE_OWNED;
  void handle_own() TUTTI_ENGINE_OWNED;
  void fetch_active(int from) TUTTI_ENGINE_OWNED;
  void go_on_with(int from, bool first_is_good) TUTTI_ENGINE_OWNED;

  void arrived(const transport::Arrival& arrival) override TUTTI_ENGINE_OWNED;
  void unsent(int more) override TUTTI_ENGINE_OWNED { pending_ += more; }
  void deliver(const transport::Arrival& arrival) TUTTI_ENGINE_OWNED;
  bool receive_unexpected(RecvOperation& operation) TUTTI_ENGINE_OWNED;
  [[gnu::cold]] void recv_judged(RecvOperation& operation) TUTTI_ENGINE_OWNED;
  [[gnu::cold]] void deliver_parked(int32_t from) TUTTI_ENGINE_OWNED;
  void receive_message(const transport::Arrival& arrival) TUTTI_ENGINE_OWNED;
  bool observed(const transport::Arrival& arrival) TUTTI_ENGINE_OWNED;
  void fetch_control(const transport::Arrival& arrival) TUTTI_ENGINE_OWNED;
  void satisfy(RecvOperation& operation, const transport::Arrival& arrival, bool told) TUTTI_ENGINE_OWNED;
  void fetch_into(RecvOperation& operation, const transport::Arrival& arrival) TUTTI_ENGINE_OWNED;
  void satisfy_from_self(RecvOperation& operation, SendOperation& send) TUTTI_ENGINE_OWNED;
  void withdraw_message(const transport::Header& request) TUTTI_ENGINE_OWNED;
  void send_to_self(SendOperation& operation) TUTTI_ENGINE_OWNED;
  void finish_recv(RecvOperation& operation) TUTTI_ENGINE_OWNED;
  void send_progressed(SendOperation& operation, bool moved) TUTTI_ENGINE_OWNED;
  void complete(Operation& operation) TUTTI_ENGINE_OWNED;
  // ---- events, to whoever listens (telling.cpp). Elsewhere one look at a word, and a branch, for all that happens at a
  // place; what is over as soon as it begins is told whole at the one look for its message.
  static constexpr life::Happenings kOver =
      life::bit(life::Happening::operation_moved) | life::bit(life::Happening::operation_over);
  static constexpr life::Happenings kPosted = life::bit(life::Happening::operation_posted);
  static constexpr life::Happenings kSent = life::bit(life::Happening::message_sent);
  static constexpr life::Happenings kMatched = life::bit(life::Happening::message_matched);
  static constexpr life::Happenings kArrived =
      life::bit(life::Happening::message_arrived) | kMatched | life::bit(life::Happening::message_unexpected);
  [[gnu::cold]] life::Event event(life::Happening what, int process,
                                  const transport::Header& header) const TUTTI_ENGINE_OWNED;
  [[gnu::cold]] void tell_posted(const RecvOperation& operation) const TUTTI_ENGINE_OWNED;
  [[gnu::cold]] void tell_sent(const SendOperation& operation) const TUTTI_ENGINE_OWNED;
  [[gnu::cold]] void tell_sent_to_self(const SendOperation& operation, const transport::Header& header,
                                       const RecvOperation* receive) const TUTTI_ENGINE_OWNED;
  [[gnu::cold]] void tell_sent_at_once(int to, const transport::Header& header) const TUTTI_ENGINE_OWNED;
  [[gnu::cold]] void tell_arrived(const transport::Header& header,
                                  const RecvOperation* receive) const TUTTI_ENGINE_OWNED;
  [[gnu::cold]] void tell_received_at_once(int from, const transport::Header& header) const TUTTI_ENGINE_OWNED;
  [[gnu::cold]] void tell_taken(const transport::Header& header, const RecvOperation& receive) const TUTTI_ENGINE_OWNED;
  // `moved`: it is told just now that it has, too.
  void tell_over(const SendOperation& operation, bool moved) const TUTTI_ENGINE_OWNED {
    if (life::are_wanted(kOver)) [[unlikely]]
      tell_sinks_over(operation, moved);
  }
  void tell_over(const RecvOperation& operation, int process, bool moved) const TUTTI_ENGINE_OWNED {
    if (life::are_wanted(kOver)) [[unlikely]]
      tell_sinks_over(operation, process, moved);
  }
  [[gnu::cold]] void tell_sinks_over(const SendOperation& operation, bool moved) const TUTTI_ENGINE_OWNED;
  [[gnu::cold]] void tell_sinks_over(const RecvOperation& operation, int process, bool moved) const TUTTI_ENGINE_OWNED;
  void begin_pass() TUTTI_ENGINE_OWNED { waiter_.begin_pass(); }
  struct Copied;
  bool send_copy(SendOperation& operation) TUTTI_ENGINE_OWNED;
  template <class Done>
  void wait_until(Done& done, life::Blocked& blocked) TUTTI_ENGINE_OWNED {
    if (done() && (!over_at_once() || done())) return;
    Waiter::Wait wait(
        waiter_, [](void* d) TUTTI_ENGINE_OWNED { return static_cast<bool>((*static_cast<Done*>(d))()); },
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
  PeerOrder& peer(int process) TUTTI_ENGINE_OWNED {
    PeerOrder* const* const known = known_.find(process);
    return known ? **known : meet(process);
  }
  [[gnu::noinline]] PeerOrder& meet(int process) TUTTI_ENGINE_OWNED;
  std::vector<const PeerOrder*> peers_in_order() const TUTTI_ENGINE_OWNED;
  transport::Header next_header(int to, transport::HeaderKind kind) TUTTI_ENGINE_OWNED;

  transport::Transport* transport_ TUTTI_OWNERS;
  const int process_;
  Matcher matcher_ TUTTI_OWNERS;
  Observer* observer_ TUTTI_OWNERS = nullptr;
  NewsHandler news_ TUTTI_OWNERS = nullptr;
  Pollers pollers_ TUTTI_OWNERS;
  int64_t pending_ TUTTI_OWNERS = 0;
  Judge* judge_ TUTTI_OWNERS = nullptr;
  int at_once_ TUTTI_OWNERS = 0;  // calls that were, and for which no pass has been made yet
  uint64_t last_ticket_ TUTTI_OWNERS = 0;
  std::unordered_map<uint64_t, SendOperation*> tickets_ TUTTI_OWNERS;  // sends whose answer is awaited
  bool keeps_sends_ TUTTI_OWNERS = false;
  // Those under way, and the class of the error of one that is to be withdrawn.
  std::unordered_map<SendOperation*, int> sends_ TUTTI_OWNERS;
  std::deque<PeerOrder> peers_ TUTTI_OWNERS;  // those to whom anything was sent, or of whom anything came
  ByProcess<PeerOrder*> known_ TUTTI_OWNERS;
  std::unique_ptr<Parked> parked_ TUTTI_OWNERS;
  std::unique_ptr<Active, ActiveDeleter> active_ TUTTI_OWNERS;  // nullptr: nobody has asked
  Manner manner_ TUTTI_OWNERS = Manner::usual;
  int64_t copied_ TUTTI_OWNERS = 0;  // bytes of messages that were over when they were sent
  life::UnderWay* under_way_ TUTTI_OWNERS = nullptr;
  uint64_t events_ TUTTI_OWNERS = 0;
  uint64_t control_messages_ TUTTI_OWNERS = 0;
  int fetching_ TUTTI_OWNERS = 0;

  Waiter waiter_;
};

}  // namespace tutti::engine
