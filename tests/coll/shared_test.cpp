// SPDX-License-Identifier: BSD-3-Clause
// Collectives through shared memory with ranks as threads, on one node and on several, in lanes of
// four windows, large ones of up to sixteen: any number outstanding, completed in any order, by ranks that are ahead, behind or
// asleep; mixed with those that go by messages.
#include <gtest/gtest.h>
#include <mpi.h>

#include <random>
#include <tuple>

#include "ranks.hpp"

namespace tutti::coll {
namespace {

const std::shared_ptr<const Selection>& by_shared_memory() {
  static const auto selection = Selection::parse(
      "barrier nodes>1 hierarchical\nbcast nodes>1 hierarchical\nreduce nodes>1 hierarchical\n"
      "allreduce nodes>1 hierarchical\ngather nodes>1 hierarchical\nscatter nodes>1 hierarchical\n"
      "allgather nodes>1 hierarchical\nalltoall nodes>1 hierarchical\n"
      "barrier shared=yes shared\nbcast shared=yes bytes<=600 shared\n"
      "reduce shared=yes bytes>300 shared_parts\nreduce shared=yes shared\n"
      "allreduce shared=yes bytes>300 shared_parts\nallreduce shared=yes shared\n"
      "gather shared=yes shared\nscatter shared=yes shared\nallgather shared=yes shared\n"
      "alltoall shared=yes shared\nscan shared=yes bytes>300 shared_chain\n"
      "scan shared=yes shared\n",
      "test");
  return *selection;
}

uint32_t value(int serial, int rank, int64_t i) {
  return static_cast<uint32_t>(serial * 7919 + rank * 104729 + i);
}

// The call number `serial` of a random sequence that is the same on all ranks: its buffers, and
// whether what came out is right.
class Step {
 public:
  Step(int serial, uint64_t seed, int rank, int size) : serial_(serial), rank_(rank), size_(size) {
    std::mt19937_64 random(seed * 1000003 + static_cast<uint64_t>(serial));
    constexpr Collective kKinds[] = {Collective::barrier,   Collective::bcast,     Collective::reduce,
                                     Collective::allreduce, Collective::allgather, Collective::gather,
                                     Collective::alltoall,  Collective::scatter,   Collective::scan};
    kind_ = kKinds[random() % std::size(kKinds)];
    constexpr int64_t kCounts[] = {1, 3, 12, 40, 100, 230};
    count_ = kCounts[random() % std::size(kCounts)];
    root_ = static_cast<int>(random() % static_cast<uint64_t>(size));
    in_.resize(static_cast<size_t>(count_ * size));
    out_.resize(in_.size());
    for (size_t i = 0; i < in_.size(); ++i) in_[i] = value(serial, rank, static_cast<int64_t>(i));
    if (kind_ == Collective::bcast && rank == root_) out_ = in_;
    static const LayoutRef word = Layout::dense(4, 4);
    call_.kind = kind_;
    call_.root = root_;
    call_.in = in_.data(), call_.out = out_.data();
    call_.in_count = call_.out_count = count_;
    call_.in_layout = call_.out_layout = word.get();
    call_.signature = static_cast<uint64_t>(kind_);
    call_.reduction.apply = [](const Reduction&, const void* left, const void* right, void* into, int64_t count) {
      for (int64_t i = 0; i < count; ++i)
        static_cast<uint32_t*>(into)[i] =
            static_cast<const uint32_t*>(left)[i] + static_cast<const uint32_t*>(right)[i];
    };
  }
  const Call& call() const { return call_; }

  bool right() const {
    for (int64_t i = 0; i < count_; ++i)
      for (int from = 0; from < size_; ++from) {
        const int64_t at = from * count_ + i;
        switch (kind_) {
          case Collective::bcast:
            if (out(i) != value(serial_, root_, i)) return false;
            break;
          case Collective::gather:
            if (rank_ != root_) break;
            [[fallthrough]];
          case Collective::allgather:
            if (out(at) != value(serial_, from, i)) return false;
            break;
          case Collective::scatter:
            if (out(i) != value(serial_, root_, rank_ * count_ + i)) return false;
            break;
          case Collective::alltoall:
            if (out(at) != value(serial_, from, rank_ * count_ + i)) return false;
            break;
          case Collective::reduce:
            if (rank_ != root_) break;
            [[fallthrough]];
          case Collective::allreduce:
            if (out(i) != sum(size_, i)) return false;
            break;
          case Collective::scan:
            if (out(i) != sum(rank_ + 1, i)) return false;
            break;
          default:
            break;
        }
      }
    return true;
  }

 private:
  uint32_t out(int64_t i) const { return out_[static_cast<size_t>(i)]; }
  uint32_t sum(int ranks, int64_t i) const {
    uint32_t all = 0;
    for (int r = 0; r < ranks; ++r) all += value(serial_, r, i);
    return all;
  }

  const int serial_, rank_, size_;
  Collective kind_;
  int64_t count_;
  int root_;
  std::vector<uint32_t> in_, out_;
  Call call_;
};

// Also as --stress makes them: ending with a meeting, or lingering by chance.
enum class Under { nothing, sync, random };
// On one node, and on several: by rank, the node.
using Places = std::vector<int>;
class Shared : public testing::TestWithParam<std::tuple<Places, Under>> {
 protected:
  const Places& places() const { return std::get<0>(GetParam()); }
  int ranks() const { return static_cast<int>(places().size()); }
  uint64_t seeds() const { return std::get<1>(GetParam()) == Under::nothing ? 4 : 2; }
  exec::Stress stress(uint64_t seed) const {
    const Under under = std::get<1>(GetParam());
    return {.synchronising = under == Under::sync, .chance = under == Under::random ? seed * 77 : 0};
  }
};
INSTANTIATE_TEST_SUITE_P(Ranks, Shared,
                         testing::Combine(testing::Values(Places(2), Places(3), Places(4), Places(7)),
                                          testing::Values(Under::nothing, Under::sync, Under::random)));
INSTANTIATE_TEST_SUITE_P(RanksOnNodes, Shared,
                         testing::Combine(testing::Values(Places{0, 0, 1, 1}, Places{0, 1, 0, 1, 0},
                                                          Places{0, 0, 0, 1, 2, 2, 0}),
                                          testing::Values(Under::nothing)));

TEST_P(Shared, BackToBack) {
  const int size = ranks();
  for (uint64_t seed = 1; seed <= seeds(); ++seed) {
    Ranks ranks(places(), seed);
    ranks.run([&](engine::Channel& channel) {
      exec::Planner planner(by_shared_memory(), stress(seed));
      for (int serial = 0; serial < 200; ++serial) {
        Step step(serial, seed, channel.rank, size);
        auto execution = prepare(channel, planner, step.call());
        ASSERT_TRUE(execution);
        (*execution)->run();
        ASSERT_TRUE(step.right()) << name_of(step.call().kind) << " " << serial;
        keep(planner, *std::move(execution));
      }
    });
  }
}

// Bursts of nonblocking calls, waited for together; some ranks fall asleep or come late.
TEST_P(Shared, Outstanding) {
  const int size = ranks();
  for (uint64_t seed = 1; seed <= seeds(); ++seed) {
    Ranks ranks(places(), seed);
    ranks.run([&](engine::Channel& channel) {
      exec::Planner planner(by_shared_memory(), stress(seed));
      std::mt19937_64 mine(seed * 31 + static_cast<uint64_t>(channel.rank));
      int serial = 0, left = 0;
      for (int burst = 0; burst < 15; ++burst) {
        std::vector<std::unique_ptr<Step>> steps;
        std::vector<std::unique_ptr<exec::Execution>> executions;
        for (int i = 0; i < 25; ++i) {
          steps.push_back(std::make_unique<Step>(serial++, seed, channel.rank, size));
          auto execution = prepare(channel, planner, steps.back()->call());
          ASSERT_TRUE(execution);
          (*execution)->owner = &left;
          (*execution)->on_complete = [](exec::Execution& e) { --*static_cast<int*>(e.owner); };
          ++left;
          executions.push_back(*std::move(execution));
          executions.back()->start();
          if (mine() % 4 == 0) channel.engine->progress();
          if (mine() % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
        Step last(serial++, seed, channel.rank, size);  // a blocking one behind them all
        auto execution = prepare(channel, planner, last.call());
        ASSERT_TRUE(execution);
        (*execution)->run();
        ASSERT_TRUE(last.right());
        channel.engine->wait_until([&] { return left == 0; });
        for (const auto& step : steps) ASSERT_TRUE(step->right()) << name_of(step->call().kind);
      }
    });
  }
}

// A root has shown its data long before the last rank comes; under sync it stays until then.
TEST_P(Shared, NobodyIsThroughBeforeAllHaveStartedUnderSync) {
  const int size = ranks();
  const bool sync = std::get<1>(GetParam()) == Under::sync;
  Ranks together(places(), 1);
  std::atomic<bool> root_is_through{false}, last_has_started{false};
  together.run([&](engine::Channel& channel) {
    exec::Planner planner(by_shared_memory(), stress(1));
    uint32_t word = 7;
    static const LayoutRef layout = Layout::dense(4, 4);
    const Call call{.kind = Collective::bcast, .root = 0, .out = &word, .out_count = 1, .out_layout = layout.get()};
    auto execution = prepare(channel, planner, call);
    ASSERT_TRUE(execution);
    // The last one comes when the root has left, or, where it must not, has had many chances to.
    if (channel.rank == size - 1)
      for (int pass = 0; sync ? pass < 2000 : !root_is_through; ++pass) std::this_thread::yield();
    if (channel.rank == size - 1) {
      EXPECT_EQ(root_is_through, !sync);
      last_has_started = true;
    }
    (*execution)->run();
    if (channel.rank == 0) {
      EXPECT_EQ(last_has_started, sync);
      root_is_through = true;
    }
  });
}

// More than windows, many times over: those whose turn has not come cost nothing.
class SharedMemory : public testing::TestWithParam<Places> {};
INSTANTIATE_TEST_SUITE_P(Ranks, SharedMemory, testing::Values(Places(3), Places{0, 0, 1, 0, 1}));
TEST_P(SharedMemory, AnyNumberIsOutstanding) {
#ifdef __SANITIZE_THREAD__
  constexpr int kMany = 4000;
#else
  constexpr int kMany = 20000;
#endif
  Ranks ranks(GetParam(), 1);
  ranks.run([&](engine::Channel& channel) {
    exec::Planner planner(by_shared_memory());
    int left = kMany;
    for (int i = 0; i < kMany; ++i) {
      auto execution = prepare(channel, planner, {.kind = Collective::barrier});
      ASSERT_TRUE(execution);
      exec::Execution* raw = execution->release();
      raw->owner = &left;
      raw->on_complete = [](exec::Execution& e) {
        --*static_cast<int*>(e.owner);
        delete &e;
      };
      raw->start();
    }
    channel.engine->wait_until([&] { return left == 0; });
  });
}

}  // namespace
}  // namespace tutti::coll
