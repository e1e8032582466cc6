// SPDX-License-Identifier: BSD-3-Clause
// The engine of one process: posts sends and receives, matches, progresses, waits. One thread at
// a time owns it (Engine::Guard); the progress thread is one more owner (progress.hpp). Knows
// contexts and process ids, nothing of communicators or MPI handles.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/matcher.hpp"
#include "engine/operation.hpp"
#include "engine/ownership.hpp"
#include "transport/transport.hpp"

namespace tutti::engine {

// How a thread waits that has nothing to do: progress passes before the first yield (few if ranks
// exceed cores), then yields, then sleep on the transport's descriptor.
struct Waiting {
  int polls = 100;
  int yields = 2000;
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
    if (sleepers_.load(std::memory_order_relaxed) > 0) [[unlikely]] wake_sleepers();
    has_work_.store(work, std::memory_order_relaxed);
    ownership_.release();
    if (work && helper_asleep_.load(std::memory_order_relaxed)) [[unlikely]] ring_doorbell();
  }

  // A standard send that is over when it returns true: short, in one run, to another process, when
  // the transport has room. Otherwise nothing has happened.
  bool send_at_once(int to, const Match& match, const Payload& payload, uint64_t signature = 0);
  void send(SendOperation& operation);
  void recv(RecvOperation& operation);
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
    passes_.store(passes_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return transport_.progress();
  }

  // Progresses until `done` is true, which is asked with the engine owned. Polls, then yields,
  // then sleeps; lets other threads in that ask for the engine. Called with the engine owned,
  // returns with it owned.
  template <class Done>
  void wait_until(Done&& done) {
    auto* ask = &done;
    wait([](void* d) { return static_cast<bool>((**static_cast<decltype(ask)*>(d))()); }, &ask);
  }

  // Work that needs progress though no thread waits for it: posted operations count themselves;
  // a collective counts itself while it runs. This is what the progress thread looks at.
  void add_pending() { ++pending_; }
  void remove_pending() { --pending_; }
  int64_t pending() const { return pending_ + matcher_.held(); }

  int process() const { return process_; }
  transport::Transport& transport() { return transport_; }

 private:
  friend class ProgressThread;
  struct Parked;  // messages that arrived before their predecessors

  void arrived(const transport::Arrival& arrival) override;
  void deliver(const transport::Arrival& arrival);
  void receive_message(const transport::Arrival& arrival);
  void satisfy(RecvOperation& operation, const transport::Arrival& arrival);
  void satisfy_from_self(RecvOperation& operation, SendOperation& send);
  void withdraw_message(const transport::Header& request);
  void send_to_self(SendOperation& operation);
  void finish_recv(RecvOperation& operation);
  void send_progressed(SendOperation& operation);
  void complete(Operation& operation);
  void wake_sleepers();
  void wait(bool (*done)(void*), void* argument);
  void sleep_until_something();
  void ring_doorbell();

  struct Peer {
    uint32_t next_out = 0;  // Header::order of the next message to it
    uint32_t next_in = 0;   // and of the next one from it
  };
  Peer& peer(int process) {
    const auto at = static_cast<size_t>(process);
    if (at >= peers_.size()) [[unlikely]] peers_.resize(at + 1);
    return peers_[at];
  }
  transport::Header next_header(int to, transport::Kind kind);

  transport::Transport& transport_;
  const int process_;
  const Waiting waiting_;
  Ownership ownership_;
  Matcher matcher_;
  int64_t pending_ = 0;
  uint64_t last_ticket_ = 0;
  std::unordered_map<uint64_t, SendOperation*> tickets_;  // sends whose answer is awaited
  std::vector<Peer> peers_;  // by process id, as far as anything was sent or received
  std::unique_ptr<Parked> parked_;
  int wake_fd_ = -1;                  // readable: threads in sleep_until_something() wake
  std::atomic<int> sleepers_{0};      // threads there; changed by the engine's owner

  bool completed_unheard_ = false;    // an operation completed since the sleepers were woken

  // What the progress thread sees without owning the engine; written by its owner.
  std::atomic<uint64_t> passes_{0};  // of progress(): a call that makes none leaves work undone
  std::atomic<bool> has_work_{false};
  // Written by the progress thread: it sleeps until its doorbell is rung.
  std::atomic<bool> helper_asleep_{false};
  int doorbell_fd_ = -1;
};

}  // namespace tutti::engine
