// SPDX-License-Identifier: BSD-3-Clause
// The progress thread: what happens while no thread is inside the engine, and what that costs.
#include <chrono>
#include <random>

#include "cluster.hpp"

namespace tutti::engine {
namespace {

using std::chrono::milliseconds, std::chrono::microseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kSettles{60};  // the longest tick, many times over

void compute_for(Clock::duration time) {
  volatile double x = 1;
  for (const auto end = Clock::now() + time; Clock::now() < end;)
    for (int i = 0; i < 1000; ++i) x = x * 1.0000001;
}

bool seen_within(const std::atomic<bool>& seen, Clock::duration patience) {
  for (const auto end = Clock::now() + patience; Clock::now() < end;) {
    if (seen.load(std::memory_order_acquire)) return true;
    std::this_thread::sleep_for(microseconds(50));
  }
  return seen.load(std::memory_order_acquire);
}

void exchange(Engine& e, int rank, size_t bytes, int tag) {
  std::vector<uint8_t> out = pattern(bytes, rank), in(bytes);
  Engine::Guard own(e);
  Received r(bytes_of(in), 1 - rank, tag);
  Sent s(bytes_of(out), 1 - rank, rank, tag);
  e.recv(r), e.send(s);
  e.wait_until([&] { return s.state.done && r.state.done; });
}

class ProgressTest : public testing::TestWithParam<Cluster::Over> {};
INSTANTIATE_TEST_SUITE_P(Over, ProgressTest, kEverywhere,
                         [](auto& info) { return kOver[static_cast<int>(info.param)]; });

TEST_P(ProgressTest, CompletesWhatWasStartedWhileTheReceiverIsAway) {
  Cluster cluster(GetParam(), 2, /*helpers=*/true);
  std::barrier posted(2), over(2);
  cluster.run([&](Engine& e, int rank) {
    for (int round = 0; round < 5; ++round) {
      std::vector<uint8_t> data = pattern(3 << 20, round), got(3 << 20);
      if (rank == 1) {
        Received r(bytes_of(got), 0, 1);
        {
          Engine::Guard own(e);
          e.recv(r);
        }
        posted.arrive_and_wait();
        over.arrive_and_wait();  // outside the engine until the sender is through
        while (!r.state.seen.load(std::memory_order_acquire)) std::this_thread::yield();
        EXPECT_TRUE(got == data);
      } else {
        posted.arrive_and_wait();
        Sent s(bytes_of(data), 1, 0, 1, SendMode::synchronous);
        {
          Engine::Guard own(e);
          e.send(s);
          e.wait_until([&] { return s.state.done; });
        }
        over.arrive_and_wait();
      }
    }
  });
}

// Whatever went before, a rank outside the engine with a receive posted gets its message: many
// times, at all distances from its last call, so that each state of the progress thread and each
// moment between two of them is met.
TEST_P(ProgressTest, LosesNoMessageAtAnyDistanceFromTheLastCall) {
  constexpr int kRounds = 400;
  Cluster cluster(GetParam(), 2, /*helpers=*/true);
  std::barrier both(2);
  cluster.run([&](Engine& e, int rank) {
    std::mt19937 random(17);  // the same on both
    for (int round = 0; round < kRounds; ++round) {
      const int calls = static_cast<int>(random() % 20), length = random() % 4 ? 8 : 300000;
      const microseconds before(random() % 600), distance(random() % 3 ? random() % 3 : random() % 900);
      for (int i = 0; i < calls; ++i) exchange(e, rank, 8, 3);
      std::this_thread::sleep_for(before);
      std::vector<uint8_t> data = pattern(static_cast<size_t>(length), round), got(data.size());
      Received r(bytes_of(got), 0, 1);
      if (rank == 1) {
        Engine::Guard own(e);
        e.recv(r);
      }
      both.arrive_and_wait();
      if (rank == 1) {
        ASSERT_TRUE(seen_within(r.state.seen, std::chrono::seconds(10))) << "round " << round;
        ASSERT_TRUE(got == data);
      } else {
        for (const auto at = Clock::now() + distance; Clock::now() < at;) {
        }
        Sent s(bytes_of(data), 1, 0, 1, SendMode::synchronous);
        Engine::Guard own(e);
        e.send(s);
        e.wait_until([&] { return s.state.done; });
      }
      both.arrive_and_wait();
    }
  });
}

// Three rounds, each on the answer to the one before, while both sides compute: callbacks post the
// next message, as plans do.
TEST_P(ProgressTest, CarriesAChainWhileBothCompute) {
  Cluster cluster(GetParam(), 2, /*helpers=*/true);
  std::barrier both(2);
  cluster.run([&](Engine& e, int rank) {
    exchange(e, rank, 8, 3);
    struct Chain {
      Engine& engine;
      std::vector<uint8_t> in, out;
      Received receive;
      Sent send;
      int left = 3;
      std::atomic<bool> over{false};
      Chain(Engine& en, int me)
          : engine(en),
            in(64 << 10),
            out(pattern(64 << 10, me)),
            receive(bytes_of(in), 1 - me, 8),
            send(bytes_of(out), 1 - me, me, 8) {
        receive.owner = send.owner = this;
        receive.on_complete = send.on_complete = [](Operation& o) { static_cast<Chain*>(o.owner)->one_done(); };
      }
      int parts = 0;
      void start() { parts = 2, engine.recv(receive), engine.send(send); }
      void one_done() {
        if (--parts > 0) return;
        if (--left > 0) return start();
        over.store(true, std::memory_order_release);
      }
    } chain(e, rank);
    both.arrive_and_wait();
    {
      Engine::Guard own(e);
      chain.start();
    }
    compute_for(milliseconds(300));
    EXPECT_TRUE(chain.over.load(std::memory_order_acquire)) << "not before the computation's end";
    EXPECT_TRUE(seen_within(chain.over, std::chrono::seconds(10)));
    both.arrive_and_wait();
  });
}

// A rank that has nothing pending and stays away answers control messages.
TEST_P(ProgressTest, AnswersThoughNothingIsPending) {
  Cluster cluster(GetParam(), 2, /*helpers=*/true);
  std::barrier both(2);
  cluster.run([&](Engine& e, int rank) {
    for (int round = 0; round < 10; ++round) {
      for (int i = 0; i < round; ++i) exchange(e, rank, 8, 3);
      both.arrive_and_wait();
      if (rank == 0) {
        std::vector<uint8_t> data(100);
        Sent s(bytes_of(data), 1, 0, 1, SendMode::synchronous);
        Engine::Guard own(e);
        e.send(s);
        e.cancel(s);
        e.wait_until([&] { return s.state.done; });
        EXPECT_TRUE(s.outcome.cancelled);
      }
      both.arrive_and_wait();
    }
  });
}

TEST_P(ProgressTest, NeverWakesUpWhileNothingComes) {
  Cluster cluster(GetParam(), 2, /*helpers=*/true);
  std::barrier both(2);
  cluster.run([&](Engine& e, int rank) {
    for (const bool pending : {false, true}) {
      for (int i = 0; i < 1000; ++i) exchange(e, rank, 8, 3);
      std::vector<uint8_t> in(8), out(8);
      Received r(bytes_of(in), 1 - rank, 9);
      if (pending) {
        Engine::Guard own(e);
        e.recv(r);
      }
      both.arrive_and_wait();
      std::this_thread::sleep_for(kSettles);
      const uint64_t before = cluster.wakeups(rank);
      compute_for(std::chrono::seconds(1));
      EXPECT_EQ(cluster.wakeups(rank) - before, 0u) << (pending ? "with a receive pending" : "");
      both.arrive_and_wait();
      if (pending) {
        Engine::Guard own(e);
        Sent s(bytes_of(out), 1 - rank, rank, 9);
        e.send(s);
        e.wait_until([&] { return s.state.done && r.state.done; });
      }
    }
  });
}

// A rank that computes between its calls sees to the alarm itself.
TEST(ProgressCost, PhasesOfComputationDoNotWakeItEach) {
  constexpr int kPhases = 200;
  Cluster cluster(Cluster::Over::shared, 2, /*helpers=*/true);
  cluster.run([&](Engine& e, int rank) {
    exchange(e, rank, 8, 3);
    std::this_thread::sleep_for(kSettles);
    const uint64_t before = cluster.wakeups(rank);
    for (int i = 0; i < kPhases; ++i) {
      compute_for(milliseconds(1));
      Engine::Guard own(e);
      e.progress();
    }
    EXPECT_LT(cluster.wakeups(rank) - before, kPhases / 4u);
  });
}

// One that polls for what it has started, in many short calls, is looked after once in a longest tick.
TEST(ProgressCost, PollingIsLookedAfterRarely) {
  constexpr microseconds kPolls{400'000}, kLongestTick = Ticks{}.longest;
  Cluster cluster(Cluster::Over::shared, 2, /*helpers=*/true);
  std::barrier both(2);
  cluster.run([&](Engine& e, int rank) {
    std::vector<uint8_t> data(8);
    if (rank == 1) {
      both.arrive_and_wait();
      Sent s(bytes_of(data), 0, 1, 1);
      Engine::Guard own(e);
      e.send(s);
      e.wait_until([&] { return s.state.done; });
      return;
    }
    Received r(bytes_of(data), 1, 1);
    auto test = [&] {
      Engine::Guard own(e);
      e.progress();
      return r.state.done;
    };
    {
      Engine::Guard own(e);
      e.recv(r);
    }
    const uint64_t before = cluster.wakeups(rank);
    for (const auto end = Clock::now() + kPolls; Clock::now() < end;) EXPECT_FALSE(test());
    EXPECT_LT(cluster.wakeups(rank) - before, static_cast<uint64_t>(2 * (kPolls / kLongestTick)));
    both.arrive_and_wait();
    while (!test()) {
    }
  });
}

// Messages to a rank that stays away are looked after in batches when there are many.
TEST(ProgressCost, AFloodIsLookedAfterByTicks) {
  constexpr int kMessages = 20000;
  Cluster cluster(Cluster::Over::shared, 2, /*helpers=*/true);
  std::barrier both(2);
  cluster.run([&](Engine& e, int rank) {
    exchange(e, rank, 8, 3);
    std::this_thread::sleep_for(kSettles);
    const uint64_t before = cluster.wakeups(rank);
    const auto began = Clock::now();
    both.arrive_and_wait();
    std::vector<uint8_t> data(8);
    if (rank == 0) {
      for (int i = 0; i < kMessages; ++i) {
        Sent s(bytes_of(data), 1, 0, 1);
        {
          Engine::Guard own(e);
          e.send(s);
          e.wait_until([&] { return s.state.done; });
        }
        compute_for(microseconds(10));
      }
    }
    both.arrive_and_wait();
    if (rank == 1) {
      const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - began).count();
      EXPECT_LT(cluster.wakeups(rank) - before, static_cast<uint64_t>(100 + 4 * took));
      Engine::Guard own(e);
      for (int i = 0; i < kMessages; ++i) {
        Received r(bytes_of(data), 0, 1);
        e.recv(r);
        e.wait_until([&] { return r.state.done; });
      }
    }
  });
}

TEST(ProgressChores, AreLeftToTheApplication) {
  Cluster cluster(Cluster::Over::shared, 2, /*helpers=*/true);
  std::barrier both(2);
  cluster.run([&](Engine& e, int rank) {
    if (rank == 0) {
      exchange(e, rank, 8, 3);
      both.arrive_and_wait();
      exchange(e, rank, 8, 4);
      both.arrive_and_wait();
      return;
    }
    struct Work : Engine::Chore {
      std::thread::id by;
      std::atomic<bool> left{false};
    } work;
    work.perform = [](Engine::Chore& chore) { static_cast<Work&>(chore).by = std::this_thread::get_id(); };
    exchange(e, rank, 8, 3);
    struct Both {
      Engine* engine;
      Work* work;
    } context{&e, &work};
    std::vector<uint8_t> in(8), out(8);
    Received message(bytes_of(in), 0, 4);
    message.owner = &context;
    message.on_complete = [](Operation& o) {
      auto& c = *static_cast<Both*>(o.owner);
      EXPECT_TRUE(c.engine->helper_drives());
      c.engine->leave_to_application(*c.work);
      c.work->left.store(true, std::memory_order_release);
    };
    Sent s(bytes_of(out), 0, 1, 4);
    {
      Engine::Guard own(e);
      e.recv(message), e.send(s);
    }
    std::this_thread::sleep_for(kSettles);  // the progress thread has taken over
    both.arrive_and_wait();
    ASSERT_TRUE(seen_within(work.left, std::chrono::seconds(10)));
    std::this_thread::sleep_for(kSettles);
    {
      Engine::Guard own(e);
      EXPECT_EQ(work.by, std::thread::id());
      e.progress();
      EXPECT_EQ(work.by, std::this_thread::get_id());
    }
    both.arrive_and_wait();
  });
}

}  // namespace
}  // namespace tutti::engine
