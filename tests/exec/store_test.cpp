// SPDX-License-Identifier: BSD-3-Clause
// What is kept for later calls: the bound in bytes, scratch included, and who goes when it is reached.
#include <gtest/gtest.h>

#include <mutex>
#include <optional>
#include <thread>

#include "../coll/ranks.hpp"

namespace tutti::exec {
namespace {

using namespace coll;  // the plans, and the tests of them

// A channel over so many ranks that nothing is sent on: executions are made, and not started.
engine::Channel silent_channel(int ranks) {
  engine::Channel channel;
  channel.context = 7;
  channel.peers = ProcessList::range(0, ranks);
  return channel;
}

// An allreduce of so many bytes, which has about as much scratch.
Call sum_of(int64_t bytes) {
  Call call;
  call.kind = Collective::allreduce;
  call.in_count = call.out_count = bytes;
  call.in_layout = call.out_layout = &Layout::bytes();
  call.reduction.commutative = true;
  return call;
}

class StoreTest : public testing::Test {
 protected:
  static constexpr size_t kMost = 1 << 20;

  std::unique_ptr<Execution> made(int64_t bytes) {
    auto execution = make(channel_, plans_, sum_of(bytes));
    EXPECT_TRUE(execution);
    return std::move(*execution);
  }
  // That a new place has.
  Kept& keep(int64_t bytes) {
    std::unique_ptr<Execution> execution = made(bytes);
    places_.emplace_back(store_).keep(execution);
    EXPECT_LE(store_->bytes(), kMost);
    return places_.back();
  }

  engine::Channel channel_ = silent_channel(2);
  Planner plans_;  // with a store of its own
  std::shared_ptr<Store> store_ = std::make_shared<Store>(kMost);
  std::deque<Kept> places_;
};

TEST_F(StoreTest, CountsWhatItKeepsWithTheScratch) {
  Kept& small = keep(8);
  const size_t of_small = store_->bytes();
  EXPECT_GE(of_small, sizeof(Execution));
  Kept& large = keep(100'000);
  EXPECT_GE(store_->bytes(), of_small + 100'000);
  EXPECT_TRUE(small.holds_any());
  EXPECT_TRUE(large.holds_any());
  places_.clear();
  EXPECT_EQ(store_->bytes(), 0u);
}

TEST_F(StoreTest, WhatIsTakenKeepsItsRoom) {
  Kept& place = keep(8);
  const size_t before = store_->bytes();
  std::unique_ptr<Execution> execution = place.take();
  ASSERT_TRUE(execution);
  EXPECT_EQ(place.take(), nullptr);
  EXPECT_EQ(store_->bytes(), before);
  const Execution* const same = execution.get();
  EXPECT_TRUE(place.keep(execution));
  EXPECT_EQ(store_->bytes(), before);
  // A place has room for one, and what it has no room for stays the caller's.
  std::unique_ptr<Execution> other = made(8);
  EXPECT_FALSE(place.keep(other));
  EXPECT_TRUE(other);
  EXPECT_EQ(place.take().get(), same);
}

TEST_F(StoreTest, WhatIsLentIsLentOnce) {
  Kept& place = keep(8);
  EXPECT_FALSE(place.is_lent());
  Execution* const lent = place.borrow();
  ASSERT_NE(lent, nullptr);
  EXPECT_EQ(place.borrow(), nullptr);
  EXPECT_TRUE(place.is_lent());
  place.return_borrowed();
  EXPECT_EQ(place.borrow(), lent);
}

// It does not run, or is over: whoever has borrowed it still looks at it.
TEST_F(StoreTest, WhatIsLentIsNotForgotten) {
  Kept& place = keep(100'000);
  Execution* const lent = place.borrow();
  ASSERT_NE(lent, nullptr);
  for (int i = 0; i < 50; ++i) keep(100'000);
  EXPECT_TRUE(place.holds_any());
  place.return_borrowed();
  for (int i = 0; i < 50; ++i) keep(100'000);
  EXPECT_FALSE(place.holds_any());
}

TEST_F(StoreTest, TheOldestGoesWhenTheBoundIsReached) {
  for (int i = 0; i < 400; ++i) keep(100'000);
  const size_t footprint = made(100'000)->footprint(), each = store_->bytes() / (kMost / 2 / footprint);
  EXPECT_EQ(each, footprint);  // half of the bound is full
  for (size_t i = 0; i < places_.size(); ++i)
    EXPECT_EQ(places_[i].holds_any(), i + kMost / 2 / each >= places_.size()) << i;
}

TEST_F(StoreTest, OneThatIsAskedForStays) {
  Kept& wanted = keep(100'000);
  for (int i = 0; i < 50; ++i) {
    keep(100'000);
    ASSERT_NE(wanted.borrow(), nullptr) << i;
    wanted.return_borrowed();
  }
}

TEST_F(StoreTest, ALargeOneDoesNotDriveOutAHundredSmallOnes) {
  for (int i = 0; i < 100; ++i) keep(8);
  for (int i = 0; i < 50; ++i) keep(400'000);
  for (size_t i = 0; i < 100; ++i) EXPECT_TRUE(places_[i].holds_any()) << i;
  EXPECT_TRUE(places_.back().holds_any());
}

TEST_F(StoreTest, NorDoSmallOnesDriveOutALargeOne) {
  Kept& large = keep(400'000);
  for (int i = 0; i < 3000; ++i) keep(8);
  EXPECT_TRUE(large.holds_any());
  EXPECT_FALSE(places_[1].holds_any());
}

TEST_F(StoreTest, WhatIsTooLargeIsNotKeptAndCostsNobodyItsPlace) {
  Kept& other = keep(400'000);
  const size_t before = store_->bytes();
  std::unique_ptr<Execution> large = made(2'000'000);
  EXPECT_FALSE(places_.emplace_back(store_).keep(large));
  EXPECT_TRUE(large);
  EXPECT_FALSE(places_.back().holds_any());
  EXPECT_EQ(store_->bytes(), before);
  EXPECT_TRUE(other.holds_any());
}

TEST(Store, WhatRunsIsNotForgotten) {
  Ranks ranks(2);
  std::atomic<bool> full{false};
  ranks.run([&](engine::Channel& channel) {
    const auto store = std::make_shared<Store>(1 << 20);
    Planner plans;
    Kept place(store);
    std::vector<uint8_t> in(100'000, 1), out(100'000);
    Call call = sum_of(100'000);
    call.in = in.data(), call.out = out.data();
    call.reduction.apply = [](const Reduction&, const void* left, const void* right, void* into, int64_t count) {
      for (int64_t i = 0; i < count; ++i)
        static_cast<uint8_t*>(into)[i] =
            static_cast<uint8_t>(static_cast<const uint8_t*>(left)[i] + static_cast<const uint8_t*>(right)[i]);
    };
    auto made = make(channel, plans, call);
    ASSERT_TRUE(made && place.keep(*made));
    Execution* const running = place.borrow();
    ASSERT_NE(running, nullptr);
    if (channel.rank == 0) {
      running->start();
      std::deque<Kept> others;
      for (int i = 0; i < 20; ++i) {
        auto other = make(channel, plans, sum_of(100'000));
        others.emplace_back(store).keep(*other);
      }
      EXPECT_FALSE(others.front().holds_any());
      EXPECT_TRUE(place.holds_any());
      EXPECT_TRUE(running->running());
      full = true;
    } else {
      channel.engine->wait_until([&] { return full.load(); });
      running->start();
    }
    channel.engine->wait_until([&] { return !running->running(); });
    EXPECT_EQ(out, std::vector<uint8_t>(100'000, 2));
  });
}

// ---- plans

Shape barrier_of(int size) {
  Shape shape;
  shape.kind = Collective::barrier;
  shape.size = size;
  return shape;
}
Shape large_shape(int rank) {
  Shape shape;
  shape.kind = Collective::alltoallv;
  shape.in_place = true;  // with room for each block
  shape.size = 5000;
  shape.rank = rank;
  return shape;
}

TEST(Plans, LargeOnesDriveOutTheOldestOfTheirsAndNoSmallOne) {
  const auto store = std::make_shared<Store>();
  Planner planner(Selection::shipped(), {}, store);
  std::vector<std::shared_ptr<const Plan>> small;
  for (int size = 2; size < 102; ++size) small.push_back(planner.plan(barrier_of(size)));
  const auto first = planner.plan(large_shape(0));
  EXPECT_EQ(first, planner.plan(large_shape(0)));
  EXPECT_GT(bytes_of(*first), Store::kSmall);
  // One that was asked for is passed over once, so that it goes when twice as many as fit have come after it.
  const int thrice = static_cast<int>(3 * Store::kMost / 2 / bytes_of(*first));
  for (int rank = 1; rank < thrice; ++rank) {
    (void)planner.plan(large_shape(rank));
    ASSERT_LE(store->bytes(), Store::kMost);
  }
  EXPECT_NE(first, planner.plan(large_shape(0)));
  EXPECT_GT(first->steps.size(), 0u);  // it is there for whoever has it
  for (int size = 2; size < 102; ++size)
    EXPECT_EQ(small[static_cast<size_t>(size) - 2], planner.plan(barrier_of(size))) << size;
}

TEST(Plans, OneThatIsTooLargeStaysWhileItIsTheLatest) {
  const auto store = std::make_shared<Store>(100'000);
  Planner planner(Selection::shipped(), {}, store);
  const auto first = planner.plan(large_shape(0));
  EXPECT_EQ(first, planner.plan(large_shape(0)));
  EXPECT_EQ(store->bytes(), 0u);
  (void)planner.plan(barrier_of(8));
  EXPECT_NE(first, planner.plan(large_shape(0)));
}

TEST(Plans, AnExecutionLiesWithItsPlan) {
  const auto store = std::make_shared<Store>();
  engine::Channel channel = silent_channel(2);
  {
    Planner planner(Selection::shipped(), {}, store);
    auto execution = prepare(channel, planner, sum_of(1000));
    ASSERT_TRUE(execution);
    const Execution* const same = execution->get();
    const size_t of_plan = store->bytes();
    keep(planner, std::move(*execution));
    EXPECT_GE(store->bytes(), of_plan + sizeof(Execution) + 1000);
    execution = prepare(channel, planner, sum_of(1000));
    ASSERT_TRUE(execution);
    EXPECT_EQ(execution->get(), same);
  }
  EXPECT_EQ(store->bytes(), 0u);
}

// Communicators share the store, and may end in a thread that does not own the engine.
TEST(Plans, APlannerMayEndWhileOthersKeep) {
  const auto store = std::make_shared<Store>(200'000);
  std::mutex engine;
  const auto use = [&](int sizes) {
    engine::Channel channel = silent_channel(sizes);
    for (int round = 0; round < 60; ++round) {
      std::optional<Planner> planner;
      {
        const std::lock_guard own(engine);
        planner.emplace(Selection::shipped(), Stress{}, store);
      }
      for (int64_t bytes = 8; bytes <= 1 << 16; bytes *= 4) {
        const std::lock_guard own(engine);
        auto execution = prepare(channel, *planner, sum_of(bytes));
        ASSERT_TRUE(execution);
        keep(*planner, std::move(*execution));
        EXPECT_LE(store->bytes(), 200'000u);
      }
      planner.reset();
    }
  };
  std::thread other(use, 5);
  use(8);
  other.join();
  EXPECT_EQ(store->bytes(), 0u);
}

}  // namespace
}  // namespace tutti::exec
