// SPDX-License-Identifier: BSD-3-Clause
// Which operations may meet at the same bytes, and which bytes these are.
#include "rma/accesses.hpp"

#include <gtest/gtest.h>

#include <random>

#include "base/layout.hpp"

namespace tutti::rma {
namespace {

constexpr uint8_t kSum = 3, kMax = 1;
const Act kGet{.kind = AccessKind::get}, kPut{.kind = AccessKind::put};
Act update(uint8_t operation, uint8_t element = 1) {
  return {.kind = AccessKind::update, .fetches = false, .update = {operation, element}};
}
Conflict apart(const Act& a, const Act& b, bool alone = false) {
  EXPECT_EQ(conflict_of(a, b, false, alone), conflict_of(b, a, false, alone));
  return conflict_of(a, b, false, alone);
}

TEST(Accesses, WhatMayMeet) {
  EXPECT_EQ(apart(kGet, kGet), Conflict::none);
  EXPECT_EQ(apart(kGet, kPut), Conflict::undefined);
  EXPECT_EQ(apart(kPut, kPut), Conflict::undefined);
  EXPECT_EQ(apart(kPut, update(kSum)), Conflict::undefined);
  EXPECT_EQ(apart(kPut, update(kNoOp)), Conflict::undefined);
  EXPECT_EQ(apart(kGet, update(kSum)), Conflict::undefined);
  EXPECT_EQ(apart(kGet, update(kNoOp)), Conflict::none);
  EXPECT_EQ(apart(update(kSum), update(kSum)), Conflict::none);
  EXPECT_EQ(apart(update(kSum), update(kNoOp)), Conflict::none);
  EXPECT_EQ(apart(update(kSum), update(kNoOp), true), Conflict::operations);
  EXPECT_EQ(apart(update(kSum), update(kMax)), Conflict::operations);
  EXPECT_EQ(apart(update(kReplace), update(kCompareAndSwap)), Conflict::none);
  EXPECT_EQ(apart(update(kSum, 1), update(kSum, 2)), Conflict::types);
  EXPECT_EQ(apart(update(kNoOp, 1), update(kNoOp, 2)), Conflict::none);
  // One origin's accumulates are ordered, if they are of one type.
  EXPECT_EQ(conflict_of(update(kSum), update(kMax), true, false), Conflict::none);
  EXPECT_EQ(conflict_of(update(kSum, 1), update(kSum, 2), true, false), Conflict::types);
  EXPECT_EQ(conflict_of(kPut, kPut, true, false), Conflict::undefined);
}

TEST(Accesses, Intervals) {
  const LayoutRef four = Layout::dense(4);
  const std::vector<Interval> dense = intervals_of(8, 3, *four);
  ASSERT_EQ(dense.size(), 1u);
  EXPECT_EQ(dense[0].low, 8);
  EXPECT_EQ(dense[0].high, 20);
  const std::vector<Interval> gaps = intervals_of(0, 2, *Layout::repeat(four, 3, 8));
  int64_t bytes = 0;
  for (const Interval& each : gaps) bytes += each.high - each.low;
  EXPECT_EQ(bytes, 24);
  EXPECT_FALSE(overlap(gaps));
  EXPECT_TRUE(overlap({{8, 12}, {0, 9}}));
  EXPECT_FALSE(overlap({{8, 12}, {0, 8}}));
  EXPECT_TRUE(intervals_of(0, 0, *four).empty());
  EXPECT_LE(intervals_of(0, 100'000, *Layout::repeat(four, 3, 8)).size(), Accesses::kMost);
}

TEST(Accesses, OwnAndOthers) {
  Accesses all;
  all.add({{0, 4}}, {.act = kPut, .origin = 1, .epoch = 1});
  EXPECT_TRUE(all.conflict({{3, 8}}, {.act = kGet, .origin = 2, .epoch = 1}, false, false));
  EXPECT_FALSE(all.conflict({{3, 8}}, {.act = kGet, .origin = 2, .epoch = 1}, true, false));
  EXPECT_TRUE(all.conflict({{3, 8}}, {.act = kGet, .origin = 1, .epoch = 1}, true, false));
  EXPECT_FALSE(all.conflict({{3, 8}}, {.act = kGet, .origin = 2, .epoch = 2}, false, false)) << "another epoch";
  EXPECT_FALSE(all.conflict({{4, 8}}, {.act = kGet, .origin = 2, .epoch = 1}, false, false));
  EXPECT_TRUE(all.of_others({0, 1}, 1, 2, false));
  EXPECT_FALSE(all.of_others({0, 1}, 1, 1, false)) << "its own";
  EXPECT_FALSE(all.of_others({8, 9}, 1, 2, true));
  all.add({{8, 12}}, {.act = kGet, .origin = 1, .epoch = 1});
  EXPECT_FALSE(all.of_others({8, 9}, 1, 2, false)) << "it only reads";
  EXPECT_TRUE(all.of_others({8, 9}, 1, 2, true));
  all.drop([](const Accesses::Access& a) { return a.origin == 1; });
  EXPECT_EQ(all.size(), 0u);
}

// Accumulates are atomic by elements: two that share a part of one alone are not atomic to each other.
TEST(Accesses, PartsOfElements) {
  Accesses all;
  all.add({{0, 16}}, {.act = update(kSum), .origin = 1, .epoch = 1, .grain = 4});
  const auto meets = [&](Interval bytes, const Act& act, bool own) {
    return all.conflict({bytes}, {.act = act, .origin = own ? 1 : 2, .epoch = 1, .grain = 4}, own, false);
  };
  EXPECT_FALSE(meets({8, 24}, update(kSum), false));
  ASSERT_TRUE(meets({1, 5}, update(kSum), false));
  EXPECT_EQ(meets({1, 5}, update(kSum), false)->conflict, Conflict::elements);
  EXPECT_TRUE(meets({14, 18}, update(kSum), false));
  EXPECT_FALSE(meets({16, 20}, update(kSum), false)) << "behind it";
  EXPECT_FALSE(meets({1, 5}, update(kSum), true)) << "in order";
  all.add({{32, 48}}, {.act = update(kNoOp), .origin = 1, .epoch = 1, .grain = 4});
  EXPECT_FALSE(meets({33, 37}, update(kNoOp), false)) << "both only read";
  EXPECT_TRUE(meets({33, 37}, update(kSum), false));
}

TEST(Accesses, ManyAreBounded) {
  Accesses all;
  for (int i = 0; i < 10'000; ++i) all.add({{0, 4}}, {.act = update(kSum), .origin = 1, .epoch = 1});
  EXPECT_EQ(all.size(), 1u) << "alike ones count once";
  for (int i = 0; i < 10'000; ++i) all.add({{4 * i, 4 * i + 4}}, {.act = kGet, .origin = 1, .epoch = 1});
  EXPECT_EQ(all.size(), Accesses::kMost);
}

// Against a byte by byte comparison.
TEST(Accesses, AgainstEachByte) {
  std::mt19937 chance(7);
  const auto below = [&](int n) { return static_cast<int64_t>(chance() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 300; ++round) {
    Accesses all;
    std::vector<std::pair<Interval, Accesses::Access>> plain;
    for (int i = 0; i < 30; ++i) {
      const int64_t low = below(200);
      const Interval bytes{low, low + 1 + below(i % 5 == 0 ? 60 : 6)};
      const Act acts[] = {kGet, kPut, update(kSum), update(kMax), update(kNoOp)};
      const Accesses::Access access{.act = acts[below(5)], .origin = static_cast<int>(below(3)), .epoch = 1};
      bool expected = false;
      for (const auto& [other, of] : plain)
        expected |= other.low < bytes.high && bytes.low < other.high && of.origin != access.origin &&
                    conflict_of(of.act, access.act, false, false) != Conflict::none;
      EXPECT_EQ(all.conflict({bytes}, access, false, false).has_value(), expected);
      all.add({bytes}, access);
      plain.emplace_back(bytes, access);
    }
  }
}

}  // namespace
}  // namespace tutti::rma
