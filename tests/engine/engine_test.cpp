// SPDX-License-Identifier: BSD-3-Clause
// What the engine carries and completes while its calls are made.
#include <mpi.h>

#include <chrono>
#include <cstring>
#include <ctime>
#include <numeric>

#include "cluster.hpp"

namespace tutti::engine {
namespace {

class EngineTest : public testing::TestWithParam<Cluster::Over> {};
INSTANTIATE_TEST_SUITE_P(Over, EngineTest, kEverywhere, [](auto& info) { return kOver[static_cast<int>(info.param)]; });

TEST_P(EngineTest, CarriesEveryLengthBothPostedAndUnexpected) {
  Cluster cluster(GetParam(), 2);
  const std::vector<size_t> lengths{0, 1, 7, 100, 300, 4096, 9000, 70000, 1 << 20, 5000001};
  cluster.run([&](Engine& e, int rank) {
    for (const bool late : {false, true})
      for (const size_t n : lengths)
        for (const SendMode mode : {SendMode::standard, SendMode::synchronous}) {
          std::vector<uint8_t> data = pattern(n, 1);
          Engine::Guard own(e);
          if (rank == 0) {
            Sent s(bytes_of(data), 1, 0, 5, mode);
            uint8_t go = 0;
            Received ready(bytes_of(&go, 1), 1, 9);
            e.recv(ready);
            if (!late) e.wait_until([&] { return ready.state.done; });
            e.send(s);
            e.wait_until([&] { return s.state.done && ready.state.done; });
          } else {
            std::vector<uint8_t> got(n, 0xEE);
            Received r(bytes_of(got), 0, 5);
            uint8_t go = 1;
            Sent ready(bytes_of(&go, 1), 0, 1, 9);
            if (late) {  // the message is here before its receive
              e.wait_until([&] { return e.probe({kContext, 0, 5, 0}) != nullptr; });
              e.recv(r);
              e.send(ready);
            } else {
              e.recv(r);
              e.send(ready);
            }
            e.wait_until([&] { return r.state.done && ready.state.done; });
            EXPECT_EQ(r.outcome.bytes, static_cast<int64_t>(n));
            EXPECT_EQ(r.outcome.source, 0);
            EXPECT_EQ(r.outcome.mpi_class, MPI_SUCCESS);
            EXPECT_TRUE(got == data) << n << " bytes";
          }
        }
  });
}

TEST_P(EngineTest, CarriesGapsWithoutTheReceiverKnowing) {
  Cluster cluster(GetParam(), 2);
  cluster.run([&](Engine& e, int rank) {
    for (const int64_t count : {1, 100, 20000, 300000}) {
      // Every other int of an array.
      const LayoutRef every_other = Layout::resized(Layout::dense(4), 0, 8);
      std::vector<int> strided(static_cast<size_t>(count) * 2, -1), dense(static_cast<size_t>(count));
      std::iota(dense.begin(), dense.end(), 1000);
      Engine::Guard own(e);
      if (rank == 0) {
        for (int64_t i = 0; i < count; ++i) strided[static_cast<size_t>(2 * i)] = dense[static_cast<size_t>(i)];
        Sent gappy({strided.data(), count, every_other.get()}, 1, 0, 1);
        Sent plain(bytes_of(dense), 1, 0, 2), both({strided.data(), count, every_other.get()}, 1, 0, 3);
        e.send(gappy), e.send(plain), e.send(both);
        e.wait_until([&] { return gappy.state.done && plain.state.done && both.state.done; });
      } else {
        std::vector<int> got(static_cast<size_t>(count)), again(strided), third(strided);
        Received a(bytes_of(got), 0, 1), b({again.data(), count, every_other.get()}, 0, 2);
        Received c({third.data(), count, every_other.get()}, 0, 3);
        e.recv(a), e.recv(b), e.recv(c);
        e.wait_until([&] { return a.state.done && b.state.done && c.state.done; });
        EXPECT_TRUE(got == dense);
        for (int64_t i = 0; i < count; ++i) {
          const auto at = static_cast<size_t>(2 * i);
          ASSERT_EQ(again[at], dense[static_cast<size_t>(i)]) << count << " at " << i;
          ASSERT_EQ(third[at], dense[static_cast<size_t>(i)]) << count << " at " << i;
          ASSERT_EQ(again[at + 1], -1);
          ASSERT_EQ(third[at + 1], -1);
        }
      }
    }
  });
}

TEST_P(EngineTest, TruncationIsAnErrorOfTheReceiverAlone) {
  Cluster cluster(GetParam(), 2);
  cluster.run([&](Engine& e, int rank) {
    for (const size_t n : {10u, 1000u, 3000000u}) {
      std::vector<uint8_t> data = pattern(n, 3);
      Engine::Guard own(e);
      if (rank == 0) {
        Sent s(bytes_of(data), 1, 0, 1), after(bytes_of(data), 1, 0, 1);
        e.send(s), e.send(after);
        e.wait_until([&] { return s.state.done && after.state.done; });
        EXPECT_EQ(s.outcome.mpi_class, MPI_SUCCESS);
      } else {
        std::vector<uint8_t> small(n / 2, 0), whole(n, 0);
        Received r(bytes_of(small), 0, 1), after(bytes_of(whole), 0, 1);
        e.recv(r), e.recv(after);
        e.wait_until([&] { return r.state.done && after.state.done; });
        EXPECT_EQ(r.outcome.mpi_class, MPI_ERR_TRUNCATE);
        EXPECT_EQ(0, std::memcmp(small.data(), data.data(), small.size()));
        EXPECT_EQ(after.outcome.mpi_class, MPI_SUCCESS);
        EXPECT_TRUE(whole == data);
      }
    }
  });
}

TEST_P(EngineTest, KeepsTheOrderAlsoUnderWildcards) {
  constexpr int kMessages = 2000;
  Cluster cluster(GetParam(), 3);
  cluster.run([&](Engine& e, int rank) {
    Engine::Guard own(e);
    if (rank < 2) {
      std::vector<int> numbers(kMessages * 200);
      std::vector<std::unique_ptr<Sent>> sends;
      for (int i = 0; i < kMessages; ++i) {
        numbers[static_cast<size_t>(i) * 200] = i;
        // Lengths on both sides of the rendezvous threshold.
        sends.push_back(
            std::make_unique<Sent>(bytes_of(&numbers[static_cast<size_t>(i) * 200], i % 3 ? 4 : 800), 2, rank, i % 2));
        e.send(*sends.back());
      }
      e.wait_until([&] { return std::all_of(sends.begin(), sends.end(), [](auto& s) { return s->state.done; }); });
    } else {
      int next[2][2] = {{0, 1}, {0, 1}};
      for (int i = 0; i < 2 * kMessages; ++i) {
        std::vector<int> got(200);
        Received r(bytes_of(got), kAnySource, i % 5 == 0 ? kAnyTag : -1);
        if (i % 5) {  // take what a probe shows, by its exact name
          e.wait_until([&] { return e.probe({kContext, kAnySource, kAnyTag, 0}) != nullptr; });
          r.match = e.probe({kContext, kAnySource, kAnyTag, 0})->match();
        }
        e.recv(r);
        e.wait_until([&] { return r.state.done; });
        int& expected = next[r.outcome.source][r.outcome.tag];
        ASSERT_EQ(got[0], expected) << "source " << r.outcome.source;
        expected += 2;
      }
    }
  });
}

TEST_P(EngineTest, HoldsAnyNumberOfReceivesAndMessages) {
  constexpr int kMany = 50000;
  Cluster cluster(GetParam(), 2);
  cluster.run([&](Engine& e, int rank) {
    std::vector<int> data(kMany);
    std::vector<std::unique_ptr<Received>> receives;
    std::vector<std::unique_ptr<Sent>> sends;
    Engine::Guard own(e);
    int done = 0;
    if (rank == 0) {
      std::iota(data.begin(), data.end(), 0);
      for (int i = 0; i < kMany; ++i) {
        sends.push_back(std::make_unique<Sent>(bytes_of(&data[static_cast<size_t>(i)], 4), 1, 0, i));
        e.send(*sends.back());
      }
      e.wait_until([&] {
        while (done < kMany && sends[static_cast<size_t>(done)]->state.done) ++done;
        return done == kMany;
      });
    } else {
      for (int i = kMany - 1; i >= 0; --i) {
        receives.push_back(std::make_unique<Received>(bytes_of(&data[static_cast<size_t>(i)], 4), 0, i));
        e.recv(*receives.back());
      }
      e.wait_until([&] {
        while (done < kMany && receives[static_cast<size_t>(done)]->state.done) ++done;
        return done == kMany;
      });
      for (int i = 0; i < kMany; ++i) ASSERT_EQ(data[static_cast<size_t>(i)], i);
    }
  });
}

TEST_P(EngineTest, CancelsReceivesAndSends) {
  Cluster cluster(GetParam(), 2);
  cluster.run([&](Engine& e, int rank) {
    struct Case {
      int to;  // a peer, or myself
      size_t length;
      SendMode mode;
    };
    // Sends that are not complete before they are matched.
    for (const auto [to, n, mode] :
         {Case{1, 8, SendMode::synchronous}, Case{0, 8, SendMode::synchronous}, Case{1, 2000000, SendMode::synchronous},
          Case{1, 2000000, SendMode::standard}, Case{0, 2000000, SendMode::standard}})
      for (int again = 0; again < 5; ++again) {
        std::vector<uint8_t> data = pattern(n, 1);
        Engine::Guard own(e);
        uint8_t go = 0;
        if (rank == 0) {
          Received r(bytes_of(data), 1, 77);
          e.recv(r);
          EXPECT_TRUE(e.cancel(r));
          EXPECT_TRUE(r.state.done && r.outcome.cancelled);
          Sent s(bytes_of(data), to, 0, 5, mode);
          e.send(s);
          EXPECT_FALSE(s.state.done);
          e.cancel(s);
          e.wait_until([&] { return s.state.done; });
          EXPECT_TRUE(s.outcome.cancelled);
          // One that is matched is not cancelled.
          Received ready(bytes_of(&go, 1), 1, 9);
          e.recv(ready);
          e.wait_until([&] { return ready.state.done; });
          Sent matched(bytes_of(data), 1, 0, 6, SendMode::synchronous);
          e.send(matched);
          e.cancel(matched);
          e.wait_until([&] { return matched.state.done; });
          EXPECT_FALSE(matched.outcome.cancelled);
          Received looked(bytes_of(&go, 1), 1, 10);
          e.recv(looked);
          e.wait_until([&] { return looked.state.done; });
        } else {
          std::vector<uint8_t> got(n);
          Received r(bytes_of(got), 0, 6);
          e.recv(r);
          Sent ready(bytes_of(&go, 1), 0, 1, 9);
          e.send(ready);
          e.wait_until([&] { return r.state.done && ready.state.done; });
          EXPECT_TRUE(got == data);
          EXPECT_EQ(e.probe({kContext, kAnySource, kAnyTag, 0}), nullptr);
          Sent looked(bytes_of(&go, 1), 0, 1, 10);  // the next message may come now
          e.send(looked);
          e.wait_until([&] { return looked.state.done; });
        }
      }
  });
}

TEST_P(EngineTest, SharesOneEngineBetweenThreads) {
  constexpr int kThreads = 4, kRounds = 300;
  Cluster cluster(GetParam(), 2, /*helpers=*/true);
  cluster.run([&](Engine& e, int rank) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < kRounds; ++i) {
          std::vector<int> out(i % 2 ? 3 : 400, i), in(out.size());
          Engine::Guard own(e);
          Sent s(bytes_of(out), 1 - rank, rank, t);
          Received r(bytes_of(in), 1 - rank, t);
          e.recv(r), e.send(s);
          e.wait_until([&] { return s.state.done && r.state.done; });
          ASSERT_TRUE(in == out);
        }
      });
    for (auto& t : threads) t.join();
  });
}

// Another thread finds that a sleeper can go on, and undoes it before that one has woken, as a receive
// does to a probe. The milliseconds let it fall asleep, and decide nothing but whether this is seen.
TEST_P(EngineTest, WhoWakesAsksOnceMore) {
  Cluster cluster(GetParam(), 2, /*helpers=*/true);
  cluster.run([&](Engine& e, int) {
    for (int round = 0; round < 10; ++round) {
      bool may_go = false;
      std::thread waiting([&] {
        const Engine::Guard own(e);
        e.wait_until([&] { return may_go; });
        EXPECT_TRUE(may_go);
      });
      for (const bool value : {true, false, true}) {
        if (value) usleep(20000);
        const Engine::Guard own(e);
        may_go = value;
      }
      waiting.join();
    }
  });
}

// Of threads that sleep in their calls those wake that can go on: the others use no time from there on.
TEST_P(EngineTest, WakesThoseAloneWhoCanGoOn) {
  constexpr int kThreads = 6, kTries = 20;
  constexpr double kWatched = 0.1, kShare = 0.2;
  Cluster cluster(GetParam(), 2, /*helpers=*/true);
  cluster.run([&](Engine& e, int) {
    std::vector<char> may_go(kThreads);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        const Engine::Guard own(e);
        e.wait_until([&, t] { return may_go[static_cast<size_t>(t)] != 0; });
      });
    const auto let_go = [&](size_t t) {
      const Engine::Guard own(e);
      may_go[t] = 1;
    };
    usleep(50000);  // most sleep by now
    let_go(0);
    threads[0].join();
    double used = 0;
    for (int i = 0; i < kTries; ++i) {
      const std::clock_t before = std::clock();
      usleep(static_cast<useconds_t>(kWatched * 1e6));
      used = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
      if (used < kShare * kWatched) break;
    }
    EXPECT_LT(used, kShare * kWatched) << kThreads - 1 << " threads that sleep";
    for (size_t t = 1; t < kThreads; ++t) let_go(t);
    for (size_t t = 1; t < kThreads; ++t) threads[t].join();
  });
}

}  // namespace
}  // namespace tutti::engine
