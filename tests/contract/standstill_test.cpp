// SPDX-License-Identifier: BSD-3-Clause
// Deadlock detection between engines: ranks as threads over the shuffling loopback, each with a
// watch and a progress thread. Times are short, so that legal waits of many times the limit fit in.
#include "contract/standstill.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>

#include "contract/own_state.hpp"
#include "engine/engine.hpp"
#include "engine/wait/progress.hpp"
#include "exec/preparation.hpp"
#include "transport/testing/loopback.hpp"

namespace tutti::contract {
namespace {

using namespace std::chrono_literals;
using engine::Engine;
using life::Condition;

constexpr uint64_t kUser = 4, kHidden = 7;

class Rank final : public engine::Observer {
 public:
  Rank(transport::Transport& transport, int id, ProcessList peers, std::function<void(int, const Deadlock&)> found)
      : engine(transport, id, {10, 20}),
        channel{.engine = &engine, .context = kHidden, .rank = id, .peers = std::move(peers)},
        standstill({.limit = 60ms, .second_look = 20ms, .most_asked = 3},
                   {.process = id,
                    .ranks = channel.size(),
                    .events = [this] { return engine.events(); },
                    .state = [this](bool is_described) { return own_state(engine, witness(), is_described); },
                    .count_messages = [this](std::span<const int> among,
                                             ProcessState& state) { count_messages(engine, among, state); },
                    .tell =
                        [this](int to, const Bytes& b, bool) {
                          engine.send_control(to, {}, std::string(reinterpret_cast<const char*>(b.data()), b.size()));
                        },
                    .found = [id, found](const Deadlock& d) { found(id, d); }}) {
    engine.set_observer(this);
  }
  static const Witness& witness() {
    static const Witness made{.all_threads_blocked = [] { return true; },
                              .describe = [](const life::Blocked&, BlockedThread&) {}};
    return made;
  }
  void arrived(const transport::Header&) override {}
  void waits(life::Blocked&, std::chrono::nanoseconds) override { standstill.look(); }
  void told(const transport::Header& header, const std::byte* data) override {
    standstill.message(header.process, {data, static_cast<size_t>(header.bytes)});
  }

  void send(int to, int tag, engine::SendMode mode = engine::SendMode::synchronous) {
    const Engine::Guard own(engine);
    auto& [op, done] = sends_.emplace_back();
    op.payload = {&word_, sizeof word_, &Layout::bytes()};
    op.peer = to;
    op.match = {kUser, engine.process(), tag, 0};
    op.mode = mode;
    op.owner = &done;
    op.on_complete = [](engine::Operation& o) { *static_cast<bool*>(o.owner) = true; };
    engine.send(op);
    wait(done, [&](Condition& c) {
      if (!done) c.process(to);
    });
  }
  void recv(int from, int tag, int size) {
    const Engine::Guard own(engine);
    auto& [op, done] = receives_.emplace_back();
    op.payload = {&into_, sizeof into_, &Layout::bytes()};
    op.match = {kUser, from, tag, 0};
    op.owner = &done;
    op.on_complete = [](engine::Operation& o) { *static_cast<bool*>(o.owner) = true; };
    engine.recv(op);
    wait(done, [&](Condition& c) {
      if (!op.posted) return void(c.always());
      if (from >= 0) return void(c.process(from));
      c.any();
      for (int p = 0; p < size; ++p) c.process(p);
      c.end();
    });
  }
  void collective(exec::Planner& planner, const coll::Call& call) {
    const Engine::Guard own(engine);
    auto execution = std::move(*exec::prepare(channel, planner, call));
    bool& done = collectives_.emplace_back(false);
    execution->owner = &done;
    execution->on_complete = [](exec::Execution& e) { *static_cast<bool*>(e.owner) = true; };
    execution->start();
    wait(done, [&](Condition& c) { execution->add_needs(c); });
    if (!done) stuck().push_back(execution.release());
  }

  Engine engine;
  engine::Channel channel;
  Standstill standstill;
  std::atomic<bool>* given_up = nullptr;

 private:
  template <class Needs>
  void wait(bool& done, Needs&& needs) {
    engine.wait_until([&] { return done || given_up->load(); }, needs);
  }
  // Those of a deadlock are never destroyed, as they never end.
  static std::deque<exec::Execution*>& stuck() {
    static thread_local auto* kept = new std::deque<exec::Execution*>;
    return *kept;
  }

  uint64_t word_ = 5, into_ = 0;
  // What is under way when a deadlock is given up stays as long as the engine.
  std::deque<std::pair<engine::SendOperation, bool>> sends_;
  std::deque<std::pair<engine::RecvOperation, bool>> receives_;
  std::deque<bool> collectives_;
};

struct Outcome {
  std::vector<int> reporters;
  std::vector<int> members;
  Circle circle;
};

// Runs body(rank, id) on a thread each, until all are through or a deadlock was reported.
Outcome run(int size, const std::function<void(Rank&, int)>& body, uint64_t seed = 1) {
  transport::LoopbackFabric fabric(size, seed);
  const ProcessList peers = ProcessList::range(0, size);
  Outcome outcome;
  std::mutex mutex;
  std::atomic<bool> given_up{false};
  const auto found = [&](int id, const Deadlock& deadlock) {
    const std::lock_guard lock(mutex);
    outcome.reporters.push_back(id);
    outcome.members = deadlock.members;
    outcome.circle = deadlock.circle;
    given_up = true;
  };
  std::vector<std::unique_ptr<Rank>> ranks;
  for (int i = 0; i < size; ++i) {
    ranks.push_back(std::make_unique<Rank>(fabric.at(i), i, peers, found));
    ranks.back()->given_up = &given_up;
  }
  {
    std::vector<std::unique_ptr<engine::ProgressThread>> helpers;
    for (auto& rank : ranks) helpers.push_back(std::make_unique<engine::ProgressThread>(rank->engine));
    std::vector<std::jthread> threads;
    for (int i = 0; i < size; ++i) threads.emplace_back([&, i] { body(*ranks[static_cast<size_t>(i)], i); });
    threads.clear();
    // What was withdrawn from a deadlock stays behind in the engines, which end here.
    for (auto& rank : ranks) {
      const Engine::Guard own(rank->engine);
      rank->engine.set_observer(nullptr);
    }
  }
  return outcome;
}

TEST(Standstill, two_receives_that_wait_for_each_other) {
  const Outcome o = run(3, [](Rank& rank, int id) {
    if (id < 2) rank.recv(1 - id, 1, 3);
  });
  EXPECT_EQ(o.reporters, (std::vector{0}));
  EXPECT_EQ(o.members, (std::vector{0, 1}));
  EXPECT_EQ(o.circle.members, (std::vector{0, 1}));
}

TEST(Standstill, one_speaks_though_others_hang_on) {
  const Outcome o = run(5, [](Rank& rank, int id) {
    if (id == 3) return rank.recv(4, 1, 5);
    if (id == 4) return rank.recv(3, 1, 5);
    rank.recv(3, 2, 5);
  });
  EXPECT_EQ(o.reporters, (std::vector{3}));
  EXPECT_EQ(o.circle.members, (std::vector{3, 4}));
}

TEST(Standstill, anybody_will_do_but_nobody_is_left) {
  const Outcome o = run(4, [](Rank& rank, int id) { rank.recv(id ? 0 : engine::kAnySource, 1, 4); });
  EXPECT_EQ(o.reporters, (std::vector{0}));
  EXPECT_EQ(o.members, (std::vector{0, 1, 2, 3}));
}

TEST(Standstill, a_receive_from_oneself) {
  const Outcome o = run(1, [](Rank& rank, int) { rank.recv(0, 1, 1); });
  EXPECT_EQ(o.circle.members, (std::vector{0}));
  EXPECT_EQ(o.reporters, (std::vector{0}));
}

TEST(Standstill, a_barrier_against_a_receive) {
  std::vector<exec::Planner> planners(4);
  const Outcome o = run(4, [&](Rank& rank, int id) {
    if (id == 2) return rank.recv(1, 1, 4);
    rank.collective(planners[static_cast<size_t>(id)], {.kind = coll::Collective::barrier});
  });
  EXPECT_EQ(o.reporters.size(), 1u);
  // 1 waits for the barrier's message from 3, 3 for that from 2, 2 for 1. 0 hangs on them, and is
  // known of if it has asked before.
  EXPECT_TRUE(std::ranges::includes(o.members, std::vector{1, 2, 3}));
  EXPECT_FALSE(std::ranges::count(o.circle.members, 0));
}

TEST(Standstill, who_computes_for_long_is_no_deadlock) {
  const Outcome o = run(4, [](Rank& rank, int id) {
    if (id == 3) std::this_thread::sleep_for(600ms);
    if (id > 0) rank.recv(id - 1, 1, 4);
    if (id < 3) rank.send(id + 1, 1);
  });
  EXPECT_TRUE(o.reporters.empty());
}

TEST(Standstill, collectives_with_a_late_rank_are_no_deadlock) {
  std::vector<exec::Planner> planners(5);
  for (int late = 0; late < 5; ++late) {
    const Outcome o = run(5, [&](Rank& rank, int id) {
      if (id == late) std::this_thread::sleep_for(300ms);
      rank.collective(planners[static_cast<size_t>(id)], {.kind = coll::Collective::barrier});
    });
    EXPECT_TRUE(o.reporters.empty()) << late;
  }
}

// More than are asked at a time; the last one alone computes, and the first waits for any of them.
TEST(Standstill, one_of_many_computes) {
  constexpr int kSize = 12;
  const Outcome o = run(kSize, [](Rank& rank, int id) {
    if (id == kSize - 1) std::this_thread::sleep_for(400ms);
    if (id == 0) return rank.recv(engine::kAnySource, 1, kSize);
    if (id == kSize - 1) {
      rank.send(0, 1);
      for (int other = 1; other < kSize - 1; ++other) rank.send(other, 2);
      return;
    }
    rank.recv(kSize - 1, 2, kSize);
  });
  EXPECT_TRUE(o.reporters.empty());
}

TEST(Standstill, anybody_of_many_will_do_but_nobody_is_left) {
  constexpr int kSize = 12;
  const Outcome o = run(kSize, [](Rank& rank, int id) { rank.recv(id ? 0 : engine::kAnySource, 1, kSize); });
  EXPECT_EQ(o.reporters, (std::vector{0}));
  EXPECT_EQ(o.members.size(), static_cast<size_t>(kSize));
}

// A random order of sends and receives that is legal: everybody walks the same list of pairs.
// Sends are synchronous, so that all wait for all, and one rank at a time is very slow.
TEST(Standstill, random_legal_programs_with_slow_ranks_are_silent) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    std::minstd_rand random(static_cast<unsigned>(seed));
    constexpr int kSize = 4;
    struct Pair {
      int from, to;
      bool any, slow;
    };
    std::vector<Pair> pairs(60);
    for (Pair& p : pairs) {
      p.from = static_cast<int>(random() % kSize);
      p.to = (p.from + 1 + static_cast<int>(random() % (kSize - 1))) % kSize;
      p.any = random() % 3 == 0;
      p.slow = random() % 20 == 0;
    }
    const Outcome o = run(
        kSize,
        [&](Rank& rank, int id) {
          for (size_t i = 0; i < pairs.size(); ++i) {
            const Pair& p = pairs[i];
            if (p.slow && id == p.from) std::this_thread::sleep_for(150ms);
            if (id == p.from) rank.send(p.to, static_cast<int>(i));
            if (id == p.to) rank.recv(p.any ? engine::kAnySource : p.from, static_cast<int>(i), kSize);
          }
        },
        seed);
    EXPECT_TRUE(o.reporters.empty()) << seed;
  }
}

// One pair of such a program is turned round at one of its ends: it ends in a deadlock.
TEST(Standstill, random_programs_with_a_missing_send_are_found) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const int size = 2 + static_cast<int>(seed % 4);
    std::minstd_rand random(static_cast<unsigned>(seed * 77));
    const auto missing = random() % 20;
    std::vector<std::pair<int, int>> pairs(20);
    for (auto& [from, to] : pairs) {
      from = static_cast<int>(random() % static_cast<unsigned>(size));
      to = (from + 1) % size;
    }
    const Outcome o = run(
        size,
        [&](Rank& rank, int id) {
          for (size_t i = 0; i < pairs.size(); ++i) {
            const auto [from, to] = pairs[i];
            if (id == from && i != missing) rank.send(to, static_cast<int>(i));
            if (id == to) rank.recv(from, static_cast<int>(i), size);
          }
          for (int p = 0; p < size; ++p)  // as MPI_Finalize does
            if (p != id) id < p ? rank.recv(p, 99, size) : rank.send(p, 99);
        },
        seed);
    EXPECT_EQ(o.reporters.size(), 1u) << seed;
  }
}

}  // namespace
}  // namespace tutti::contract
