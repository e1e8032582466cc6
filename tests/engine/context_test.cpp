// SPDX-License-Identifier: BSD-3-Clause
// Context ids: distinct while in use, reused after release, never the same twice in a row.
#include "engine/context.hpp"

#include <gtest/gtest.h>

#include <set>

namespace tutti::engine {
namespace {

TEST(ContextPool, ReusesReleasedSlotsUnderAnotherId) {
  ContextPool pool(7);
  std::set<uint64_t> seen;
  for (int i = 0; i < 100000; ++i) {
    const uint64_t id = pool.acquire();
    ASSERT_NE(id, kNoContext);
    ASSERT_EQ(id & 1, 0u);  // the low bit is the hidden channel's
    ASSERT_TRUE(seen.insert(id).second) << "id used twice within 100000";
    pool.release(id);
  }
  EXPECT_LE(pool.slots(), 3u);
}

TEST(ContextPool, DiffersBetweenOwnersAndFromThePredefined) {
  ContextPool mine(0), other(1);
  std::set<uint64_t> seen{ContextPool::world(), mine.self(), other.self()};
  EXPECT_EQ(seen.size(), 3u);
  for (ContextPool* pool : {&mine, &other})
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(seen.insert(pool->acquire()).second);
  EXPECT_EQ(seen.count(kNoContext), 0u);
}

TEST(ContextPool, TakesNothingFromAnotherOwner) {
  ContextPool mine(0), other(1);
  const uint64_t foreign = other.acquire();
  mine.release(foreign);
  mine.release(ContextPool::world());
  EXPECT_EQ(mine.slots(), 2u);
  const uint64_t id = mine.acquire();
  EXPECT_NE(id, foreign);
  EXPECT_NE(id, ContextPool::world());
}

TEST(ContextPool, SaysWhenItIsEmpty) {
  ContextPool pool(3);
  for (int i = 0; i < (1 << ContextPool::kSlotBits) - 2; ++i) ASSERT_NE(pool.acquire(), kNoContext);
  EXPECT_EQ(pool.acquire(), kNoContext);
  pool.release(pool.self());  // not its to give
  EXPECT_EQ(pool.acquire(), kNoContext);
}

}  // namespace
}  // namespace tutti::engine
