// SPDX-License-Identifier: BSD-3-Clause
// The detector of deadlocks on made-up ranks: the real class, once for each rank, over a queue of messages, at a clock of
// its own. What a rank waits for is written down by the test; nothing else of a rank is there. The net delays messages,
// and loses those that it is told to; it counts what each rank gets, sends and has to hand on for others.
#pragma once

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <queue>
#include <random>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "contract/relay.hpp"
#include "contract/standstill.hpp"

namespace tutti::contract {

// What a rank does: nothing while it waits for what `needs` says.
struct Script {
  bool is_blocked = false;
  life::Condition needs;
  uint64_t context = 0;  // of a collective in which it waits, which needs that; 0: none
  uint64_t events = 0;
};

struct Load {
  uint64_t messages = 0, bytes = 0;  // got and sent
  uint64_t this_second = 0, most_in_second = 0;
  int64_t second = -1;
  double processor = 0;  // seconds, of what messages take
};

class DetectorNet {
 public:
  using Clock = Standstill::Clock;
  using Time = Clock::time_point;
  // Of one hop: a rank that sleeps is woken. Looks are as rare as they may be (engine/observer.hpp).
  static constexpr std::chrono::microseconds kHop{50};
  static constexpr int kLooks = 10;
  static constexpr std::chrono::milliseconds kBetweenLooks{100};

  struct Found {
    double seconds = 0;
    int speaker = -1;
    size_t members = 0;
    Circle circle;
  };

  explicit DetectorNet(int ranks, bool times = false)
      : scripts(static_cast<size_t>(ranks)), loads(static_cast<size_t>(ranks)), times_(times) {
    for (int rank = 0; rank < ranks; ++rank) members_.emplace_back(Standstill::Options{}, means_of(rank));
  }

  int ranks() const { return static_cast<int>(scripts.size()); }
  double seconds() const { return std::chrono::duration<double>(now_ - Time{}).count(); }
  // A rank waits, from now on.
  void wait(int rank, life::Condition needs, uint64_t context = 0) {
    Script& script = at(rank);
    script.is_blocked = true;
    script.needs = std::move(needs);
    script.context = context;
    ++script.events;
  }
  void go_on(int rank) {
    at(rank).is_blocked = false;
    ++at(rank).events;
  }
  void end(int rank) { gone_.insert(rank); }      // it has failed, as all know
  void stop(int rank) { stopped_.insert(rank); }  // it answers nobody
  void lose(double share) { lost_ = share; }

  // Until then, or until a deadlock is found; `each_tick` is called every 100 ms.
  void run(double until, const std::function<void()>& each_tick = {}) {
    while (seconds() < until && found.empty()) {
      const Time tick = now_ + kBetweenLooks / kLooks;
      while (!queue_.empty() && queue_.top().time <= tick) deliver();
      now_ = tick;
      ++ticks_;
      const auto phase = static_cast<int>(ticks_ % kLooks);
      if (phase == 0 && each_tick) each_tick();
      for (int rank = phase; rank < ranks(); rank += kLooks)
        if (at(rank).is_blocked && is_there(rank)) members_[static_cast<size_t>(rank)].look(now_);
    }
  }

  uint64_t messages() const {  // each once
    uint64_t all = 0;
    for (const Load& load : loads) all += load.messages;
    return all / 2;
  }
  uint64_t questions() const {
    uint64_t all = 0;
    for (const Standstill& member : members_) all += member.questions();
    return all;
  }
  uint32_t rounds() const {
    uint32_t all = 0;
    for (const Standstill& member : members_) all += member.rounds();
    return all;
  }
  Load most() const {  // of any rank
    Load most;
    for (const Load& load : loads) {
      most.messages = std::max(most.messages, load.messages);
      most.bytes = std::max(most.bytes, load.bytes);
      most.most_in_second = std::max(most.most_in_second, load.most_in_second);
      most.processor = std::max(most.processor, load.processor);
    }
    return most;
  }

  std::vector<Script> scripts;
  std::vector<Load> loads;
  std::vector<Found> found;
  uint64_t longest_answer = 0;  // in bytes, of those to the questions of one that has been called

 private:
  struct Message {
    Time time;
    uint64_t order = 0;
    int from = 0, at = 0, to = 0;
    Bytes bytes;
    bool operator>(const Message& other) const { return std::pair(time, order) > std::pair(other.time, other.order); }
  };

  Script& at(int rank) { return scripts[static_cast<size_t>(rank)]; }
  bool is_there(int rank) const { return !gone_.contains(rank) && !stopped_.contains(rank); }

  Standstill::Means means_of(int rank) {
    return {.process = rank,
            .ranks = ranks(),
            .events = [this, rank] { return at(rank).events; },
            .state = [this, rank](bool) { return state_of(rank); },
            .count_messages = [](std::span<const int>, ProcessState&) {},
            .tell = [this, rank](int to, const Bytes& bytes, bool is_near) { send(rank, to, bytes, is_near); },
            .found =
                [this, rank](const Deadlock& deadlock) {
                  found.push_back({seconds(), rank, deadlock.members.size(), deadlock.circle});
                },
            .is_gone = [this](int process) { return gone_.contains(process); },
            .others = {.job_size = ranks()}};
  }

  ProcessState state_of(int rank) {
    const Script& script = at(rank);
    ProcessState state;
    state.blocked = script.is_blocked;
    state.epoch = script.events;
    if (!script.is_blocked) return state;
    BlockedThread& thread = state.threads.emplace_back();
    if (script.context) {
      thread.needs.collective(rank, script.context, 1);
      state.courses.push_back({script.context, 1, script.needs});
    } else {
      thread.needs = script.needs;
    }
    return state;
  }

  template <class Body>
  void timed(int rank, Body&& body) {
    if (!times_) return body();
    const auto processor = [] {
      timespec now{};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
      return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
    };
    const double begin = processor();
    body();
    loads[static_cast<size_t>(rank)].processor += processor() - begin;
  }

  void count(int rank, size_t bytes) {
    Load& load = loads[static_cast<size_t>(rank)];
    ++load.messages;
    load.bytes += bytes;
    const auto second = static_cast<int64_t>(seconds());
    if (second != load.second) load.this_second = 0;
    load.second = second;
    load.most_in_second = std::max(load.most_in_second, ++load.this_second);
  }

  void send(int from, int to, Bytes bytes, bool is_near) {
    if (!is_near && bytes.size() > 1 && bytes.front() == std::byte{1})
      longest_answer = std::max<uint64_t>(longest_answer, bytes.size());
    hop(from, from, to, is_near ? to : next_hop(from, to, ranks()), std::move(bytes));
  }
  void hop(int from, int at, int to, int next, Bytes bytes) {
    count(at, bytes.size());
    if (!is_there(next) || (lost_ > 0 && std::uniform_real_distribution<>()(random_) < lost_)) return;
    const auto time = now_ + kHop + std::chrono::nanoseconds(bytes.size());  // a byte a nanosecond
    queue_.push({time, ++order_, from, next, to, std::move(bytes)});
  }
  void deliver() {
    Message message = std::move(const_cast<Message&>(queue_.top()));  // it is taken out, whose order is not changed
    queue_.pop();
    now_ = message.time;
    count(message.at, message.bytes.size());
    if (message.at != message.to)
      return hop(message.from, message.at, message.to, next_hop(message.at, message.to, ranks()),
                 std::move(message.bytes));
    timed(message.to, [&] { members_[static_cast<size_t>(message.to)].message(message.from, message.bytes, now_); });
  }

  const bool times_;
  std::deque<Standstill> members_;
  Time now_{};
  int64_t ticks_ = 0;
  uint64_t order_ = 0;
  std::priority_queue<Message, std::vector<Message>, std::greater<>> queue_;
  std::set<int> gone_, stopped_;
  double lost_ = 0;
  std::minstd_rand random_{7};
};

// ---- what ranks of a job wait for

// Each for the next: a deadlock.
inline void make_ring(DetectorNet& net) {
  for (int rank = 0; rank < net.ranks(); ++rank) net.wait(rank, life::Condition().process((rank + 1) % net.ranks()));
}
// All for rank 0, which waits for rank 1: a deadlock.
inline void make_star(DetectorNet& net) {
  for (int rank = 0; rank < net.ranks(); ++rank) net.wait(rank, life::Condition().process(rank == 0));
}
// All for one that computes.
inline void make_late(DetectorNet& net, int late) {
  for (int rank = 0; rank < net.ranks(); ++rank)
    if (rank != late) net.wait(rank, life::Condition().process(late));
}
// All in a collective down a tree, whose root computes.
inline void make_late_root(DetectorNet& net) {
  for (int rank = 1; rank < net.ranks(); ++rank)
    net.wait(rank, life::Condition().collective(rank & (rank - 1), 9, 1), 9);
}
// Rank 0 waits for any of all, which wait for the last one, which computes, or for rank 0: a deadlock.
inline void make_master(DetectorNet& net, bool is_right) {
  const int last = net.ranks() - 1;
  net.wait(0, life::Condition().some(0, net.ranks()));
  for (int rank = 1; rank < net.ranks(); ++rank)
    if (!is_right || rank < last) net.wait(rank, life::Condition().process(is_right ? last : 0));
}

}  // namespace tutti::contract
