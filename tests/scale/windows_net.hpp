// SPDX-License-Identifier: BSD-3-Clause
// Locks and epochs of a window whose members are made up: the real two sides of each (runtime/rma/), over a queue of messages,
// at a clock of its own. Made up is what carries them (paths/message.hpp does in a job), and what a rank does between its
// calls. The net counts what each rank sends and gets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/by_process.hpp"
#include "rma/origin_side.hpp"
#include "rma/target_side.hpp"

namespace tutti::scale {

// What one rank has sent and got, and the longest thing that it has told of whom somebody waits for.
struct WindowLoad {
  uint64_t messages = 0, bytes = 0, told = 0, longest = 0;
};

class WindowsNet {
 public:
  // Microseconds (docs/scale.md): a message on its way, and a core at either end.
  static constexpr double kLatency = 1.5, kOverhead = 0.3;
  static constexpr double kAsks = 1e6;     // who waits for so long asks for whom
  static constexpr uint64_t kHeader = 40;  // bytes of each message

  using Behind = rma::TargetSide::Behind;
  using Then = std::function<void()>;

  explicit WindowsNet(int ranks) : free_at_(static_cast<size_t>(ranks)), loads(static_cast<size_t>(ranks)) {
    origins_.resize(static_cast<size_t>(ranks));
  }

  int ranks() const { return static_cast<int>(origins_.size()); }
  double now() const { return now_; }
  rma::OriginSide& origin(int rank) {
    std::unique_ptr<rma::OriginSide>& side = origins_[place(rank)];
    if (!side) side = std::make_unique<rma::OriginSide>();
    return *side;
  }

  void at(double time, Then then) { queue_.push({time, ++order_, std::move(then)}); }
  void run() {
    while (!queue_.empty()) {
      const Event event = queue_.top();
      queue_.pop();
      now_ = event.time;
      event.then();
    }
  }

  // A blocking lock, and then `then`.
  void lock(int from, int to, rma::LockWish wish, Then then) {
    origin(from).begins_lock(to);
    begin(from, to, std::move(then));
    send(from, to, 0, [=, this](Part& part) { part.side.asks_lock(from, wish); });
  }
  // A lock that nobody waits for, an operation and what ends the epoch, in one message; then `then`.
  void update(int from, int to, rma::LockWish wish, Then then) {
    origin(from).begins_lazy_lock(to);
    origin(from).goes_unheard(to);
    begin(from, to, std::move(then));
    origin(from).begins_unlock(to);
    send(from, to, 8, [=, this](Part& part) {
      part.waits.set(from, true);
      part.side.asks_lock(from, wish);
    });
  }
  void unlock(int from, int to, Then then) {
    origin(from).begins_unlock(to);
    begin(from, to, std::move(then));
    send(from, to, 0, [=](Part& part) { part.side.says(from, Behind::unlock); });
  }
  void post(int from, int to) {
    send(from, to, 0, [=, this](Part&) { origin(to).posted(from); });
  }
  void complete(int from, int to) {
    send(from, to, 0, [=](Part& part) { part.side.says(from, Behind::complete); });
  }
  rma::TargetSide& target(int rank) { return part(rank).side; }

  uint64_t messages() const {
    uint64_t all = 0;
    for (const WindowLoad& load : loads) all += load.messages;
    return all / 2;
  }

 private:
  struct Event {
    double time;
    uint64_t order;
    Then then;
    bool operator<(const Event& other) const { return std::pair(time, order) > std::pair(other.time, other.order); }
  };
  // The memory of one rank, and who carries its answers.
  struct Part final : rma::Answers {
    Part(WindowsNet& net, int rank) : side(rank), net(net), rank(rank) { side.set_answers(*this); }
    void flushed(int origin) override {
      net.answer(rank, origin, 0, [=, this](rma::OriginSide& its) { its.flushed(rank); });
    }
    void granted(int origin) override {
      // Of a lazy lock nobody is told: what came behind it is served.
      if (const bool* const waiting = waits.find(origin); waiting && *waiting) {
        waits.set(origin, false);
        net.at(net.now_, [=, this] { side.says(origin, Behind::unlock); });
        return;
      }
      net.answer(rank, origin, 0, [=, this](rma::OriginSide& its) {
        its.granted(rank);
        net.ends(origin, rank);
      });
    }
    void unlocked(int origin, bool awaited) override {
      net.answer(rank, origin, 0, [=, this](rma::OriginSide& its) {
        its.unlocked(rank, awaited);
        net.ends(origin, rank);
      });
    }
    void holders(int origin, const std::vector<int>& ranks) override {
      WindowLoad& load = net.loads[net.place(rank)];
      ++load.told;
      load.longest = std::max<uint64_t>(load.longest, ranks.size());
      net.answer(rank, origin, 4 * ranks.size(), [=, this](rma::OriginSide& its) { its.told_holders(rank, ranks); });
    }
    void failed(int, const Error&) override {}

    rma::TargetSide side;
    WindowsNet& net;
    const int rank;
    ByProcess<bool> waits;  // by origin: what has come behind its lazy lock waits for that
  };

  size_t place(int rank) const { return static_cast<size_t>(rank); }
  Part& part(int rank) {
    std::unique_ptr<Part>& found = parts_[rank];
    if (!found) found = std::make_unique<Part>(*this, rank);
    return *found;
  }
  // A call of `from` waits for `to`, and asks for whom if that takes long.
  void begin(int from, int to, Then then) {
    const uint64_t call = ++calls_;
    calls_under_way_[from] = {call, std::move(then)};
    at(now_ + kAsks, [=, this] {
      const auto waiting = calls_under_way_.find(from);
      if (waiting == calls_under_way_.end() || waiting->second.first != call || !origin(from).begins_holders(to))
        return;
      send(from, to, 0, [=](Part& its) { its.side.asks_holders(from); });
    });
  }
  void ends(int from, int) {
    const auto waiting = calls_under_way_.find(from);
    if (waiting == calls_under_way_.end()) return;
    Then then = std::move(waiting->second.second);
    calls_under_way_.erase(waiting);
    if (then) then();
  }
  // A core does one thing after the other.
  double takes(int rank) {
    double& free = free_at_[place(rank)];
    return free = std::max(free, now_) + kOverhead;
  }
  void carry(int from, int to, uint64_t bytes, Then then) {
    for (const int rank : {from, to}) {
      ++loads[place(rank)].messages;
      loads[place(rank)].bytes += kHeader + bytes;
    }
    at(takes(from) + kLatency, [this, to, then = std::move(then)] { at(takes(to), then); });
  }
  template <class There>
  void send(int from, int to, uint64_t bytes, There there) {
    carry(from, to, bytes, [=, this] { there(part(to)); });
  }
  template <class There>
  void answer(int from, int to, uint64_t bytes, There there) {
    carry(from, to, bytes, [=, this] { there(origin(to)); });
  }

  std::vector<std::unique_ptr<rma::OriginSide>> origins_;
  std::unordered_map<int, std::unique_ptr<Part>> parts_;
  std::unordered_map<int, std::pair<uint64_t, Then>> calls_under_way_;  // by rank: the number, and what comes behind it
  std::priority_queue<Event> queue_;
  std::vector<double> free_at_;
  double now_ = 0;
  uint64_t order_ = 0, calls_ = 0;

 public:
  std::vector<WindowLoad> loads;
};

struct WindowCase {
  const char* name;
  std::function<void(WindowsNet&, int& done)> begin;  // `done`: how many ranks have got through
};

// What many ranks do with one part of a window, or with their neighbours'. `seconds` are those of a program that computes.
inline std::vector<WindowCase> window_cases() {
  constexpr double kSecond = 1e6;
  const auto all = [](WindowsNet& net, int first, const std::function<void(int)>& each) {
    for (int rank = first; rank < net.ranks(); ++rank) net.at(0, [=] { each(rank); });
  };
  const auto holds = [](WindowsNet& net, int rank, double seconds, int& done) {
    net.lock(rank, 0, {.exclusive = true}, [=, &net, &done] {
      net.at(net.now() + seconds * kSecond, [=, &net, &done] { net.unlock(rank, 0, [&done] { ++done; }); });
    });
  };
  return {
      {"lock_all, unlock_all",
       [=](WindowsNet& net, int& done) {
         all(net, 0, [&](int rank) {
           net.origin(rank).begins_lock_of_all();
           done += net.origin(rank).ends_lock_of_all().empty();
         });
       }},
      {"lock_all, all update one",
       [=](WindowsNet& net, int& done) {
         all(net, 0, [&](int rank) {
           net.origin(rank).begins_lock_of_all();
           net.origin(rank).asked_under_lock_of_all(0);
           net.update(rank, 0, {.passes = true},
                      [&, rank] { done += net.origin(rank).ends_lock_of_all().size() == 1; });
         });
       }},
      {"lock alone, all update one",
       [=](WindowsNet& net, int& done) {
         all(net, 0, [&](int rank) { net.update(rank, 0, {.exclusive = true}, [&] { ++done; }); });
       }},
      {"the same, behind one that has it for 3 s",
       [=](WindowsNet& net, int& done) {
         holds(net, 0, 3, done);
         all(net, 1,
             [&](int rank) { net.at(100, [&, rank] { net.update(rank, 0, {.exclusive = true}, [&] { ++done; }); }); });
       }},
      {"shared by all, behind one that has it for 3 s",
       [=](WindowsNet& net, int& done) {
         holds(net, 0, 3, done);
         all(net, 1, [&](int rank) {
           net.at(100, [&, rank] { net.update(rank, 0, {.passes = rank % 2 == 0}, [&] { ++done; }); });
         });
       }},
      {"100 have it alone for 50 ms each, the others wait",
       [=](WindowsNet& net, int& done) {
         all(net, 0, [&](int rank) {
           if (rank < 100) return holds(net, rank, .05, done);
           net.at(100, [&, rank] { net.update(rank, 0, {.exclusive = rank % 3 == 0}, [&] { ++done; }); });
         });
       }},
      {"post, start, complete, wait: 6 neighbours",
       [=](WindowsNet& net, int& done) {
         all(net, 0, [&](int rank) {
           const int ranks = net.ranks();
           for (const int step : {1, 100, 10'000 % ranks}) {
             for (const int other : {(rank + step) % ranks, (rank + ranks - step) % ranks}) net.post(rank, other);
           }
           net.at(1000, [&, rank, ranks] {
             for (const int step : {1, 100, 10'000 % ranks}) {
               for (const int other : {(rank + step) % ranks, (rank + ranks - step) % ranks}) {
                 if (!net.origin(rank).is_posted(other)) return;
                 net.origin(rank).take_post(other);
                 net.complete(rank, other);
               }
             }
             ++done;
           });
         });
       }},
  };
}

}  // namespace tutti::scale
