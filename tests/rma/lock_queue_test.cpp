// SPDX-License-Identifier: BSD-3-Clause
// The lock of a window: who holds it, whose turn is next, and whom one waits for; and a layout that
// comes out of its bytes as it went in.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "base/layout.hpp"
#include "rma/locks.hpp"

namespace {

using tutti::Bytes;
using tutti::Layout;
using tutti::LayoutRef;
using tutti::rma::LockQueue;
using Ranks = std::vector<int>;

TEST(LockQueue, is_shared_by_many_or_held_by_one) {
  LockQueue locks;
  EXPECT_TRUE(locks.request(1, {false}));
  EXPECT_TRUE(locks.request(2, {false}));
  EXPECT_FALSE(locks.request(3, {true}));
  EXPECT_TRUE(locks.holds(1) && locks.holds(2) && !locks.holds(3));
  EXPECT_EQ(locks.release(1), Ranks{});
  EXPECT_EQ(locks.release(2), Ranks{3});
  EXPECT_FALSE(locks.request(1, {false}));
  EXPECT_EQ(locks.release(3), Ranks{1});
}

TEST(LockQueue, nobody_overtakes) {
  LockQueue locks;
  EXPECT_TRUE(locks.request(0, {false}));
  EXPECT_FALSE(locks.request(1, {true}));
  EXPECT_FALSE(locks.request(2, {false}));  // or those that share would starve who wants it alone
  EXPECT_FALSE(locks.request(3, {false}));
  EXPECT_FALSE(locks.request(4, {true}));
  EXPECT_EQ(locks.release(0), Ranks{1});
  EXPECT_EQ(locks.release(1), (Ranks{2, 3}));
  EXPECT_EQ(locks.release(3), Ranks{});
  EXPECT_EQ(locks.release(2), Ranks{4});
  EXPECT_EQ(locks.release(4), Ranks{});
  EXPECT_TRUE(locks.is_free());
}

// Two locks, and two who hold one of them each and want to share the other one, too, at which somebody waits to be alone.
TEST(LockQueue, who_passes_does_not_wait_for_who_waits) {
  LockQueue locks;
  EXPECT_TRUE(locks.request(0, {}));
  EXPECT_FALSE(locks.request(1, {.exclusive = true}));
  EXPECT_TRUE(locks.request(2, {.passes = true}));
  EXPECT_TRUE(locks.is_awaited());
  EXPECT_EQ(locks.before(1), (Ranks{0, 2}));
  EXPECT_EQ(locks.release(0), Ranks{});
  EXPECT_EQ(locks.release(2), Ranks{1});
  EXPECT_FALSE(locks.is_awaited());
  // Behind one who is alone it comes in with the first one who shares, whoever stands between them.
  EXPECT_FALSE(locks.request(3, {}));
  EXPECT_FALSE(locks.request(4, {.exclusive = true}));
  EXPECT_FALSE(locks.request(5, {.passes = true}));
  EXPECT_FALSE(locks.request(6, {}));
  EXPECT_EQ(locks.before(5), Ranks{1});
  EXPECT_EQ(locks.before(6), (Ranks{1, 3, 4}));
  EXPECT_EQ(locks.release(1), (Ranks{3, 5}));
  EXPECT_EQ(locks.release(5), Ranks{});
  EXPECT_EQ(locks.release(3), Ranks{4});
  EXPECT_EQ(locks.release(4), Ranks{6});
}

TEST(LockQueue, knows_whom_one_waits_for) {
  LockQueue locks;
  locks.request(0, {false});
  locks.request(1, {true});
  locks.request(2, {false});
  EXPECT_EQ(locks.before(0), Ranks{});
  EXPECT_EQ(locks.before(1), Ranks{0});
  EXPECT_EQ(locks.before(2), (Ranks{0, 1}));
  locks.release(0);
  EXPECT_EQ(locks.before(2), Ranks{1});
}

// Whether `rank` gets the lock though `other` keeps it, or never asks to have it: all others give it up as they get it.
bool goes_on_without(LockQueue locks, int rank, int other) {
  for (;;) {
    if (locks.holds(rank)) return true;
    const Ranks holders = locks.holders();
    const auto gives_up = std::ranges::find_if(holders, [&](int holder) { return holder != other; });
    if (gives_up == holders.end()) return false;
    locks.release(*gives_up);
  }
}

// Who shares, who is alone and who passes, by lot. A deadlock is told by what one waits for: that may be less than all, but
// nothing else, and what is told of those far behind stays so until they are among the first, or have the lock.
TEST(LockQueue, tells_nobody_for_whom_one_need_not_wait) {
  std::mt19937 random(1);
  for (int round = 0; round < 80; ++round) {
    LockQueue locks;
    std::set<int> waiting;
    std::map<int, int> told_once;
    int next = 0;
    const int alone = round % 5, most = 4 + round % 60;
    for (int step = 0; step < 150; ++step) {
      if (random() % 3 != 0 && static_cast<int>(waiting.size()) < most) {
        const bool exclusive = static_cast<int>(random() % 6) < alone;
        if (!locks.request(next, {exclusive, !exclusive && random() % 3 == 0})) waiting.insert(next);
        ++next;
      } else if (!locks.is_free()) {
        const int gives_up = locks.holders()[random() % locks.holders().size()];
        for (const int granted : locks.release(gives_up)) {
          waiting.erase(granted);
          told_once.erase(granted);
        }
      }
      const Ranks first = locks.first_ones();
      for (const int rank : first) told_once.erase(rank);
      for (const int rank : waiting) {
        const Ranks before = locks.before(rank);
        ASSERT_FALSE(before.empty());
        for (const int each : before) ASSERT_FALSE(goes_on_without(locks, rank, each)) << rank << " and " << each;
        if (std::ranges::find(first, rank) != first.end()) continue;
        ASSERT_EQ(before.size(), 1u);
        const int told = told_once.try_emplace(rank, before.front()).first->second;
        ASSERT_FALSE(goes_on_without(locks, rank, told)) << rank << " and " << told;
      }
    }
  }
}

// The packed form of numbers is the same by both.
void expect_same(const LayoutRef& layout, int64_t count) {
  Bytes bytes;
  layout->write(bytes);
  bytes.push_back(std::byte{7});  // something behind it
  std::span<const std::byte> rest(bytes);
  const LayoutRef read = Layout::read(rest);
  ASSERT_TRUE(read);
  EXPECT_EQ(rest.size(), 1u);
  EXPECT_EQ(read->size(), layout->size());
  EXPECT_EQ(read->extent(), layout->extent());
  EXPECT_EQ(read->lower_bound(), layout->lower_bound());
  EXPECT_EQ(read->true_lower_bound(), layout->true_lower_bound());
  EXPECT_EQ(read->true_extent(), layout->true_extent());
  EXPECT_EQ(read->is_dense(), layout->is_dense());
  std::vector<uint16_t> memory(60'000);
  std::iota(memory.begin(), memory.end(), uint16_t{0});
  const auto length = static_cast<size_t>(count * layout->size());
  std::vector<std::byte> a(length), b(length);
  layout->pack(memory.data() + 30'000, count, 0, a.data(), static_cast<int64_t>(length));
  read->pack(memory.data() + 30'000, count, 0, b.data(), static_cast<int64_t>(length));
  EXPECT_EQ(a, b);
  for (size_t cut = 0; cut + 1 < bytes.size(); cut += 5) {  // never read past the end
    std::span<const std::byte> part(bytes.data(), cut);
    EXPECT_FALSE(Layout::read(part));
  }
}

TEST(LayoutOnWire, is_the_same) {
  const LayoutRef number = Layout::dense(2, 2);
  expect_same(number, 100);
  expect_same(Layout::repeat(number, 10, 6), 7);
  expect_same(Layout::repeat(number, 10, -6), 7);
  expect_same(Layout::resized(number, -4, 12), 9);
  std::vector<LayoutRef> parts;
  std::vector<int64_t> counts, places;
  for (int i = 0; i < 200; ++i) {
    parts.push_back(i % 3 ? number : Layout::repeat(number, 2, 4));
    counts.push_back(i % 4);
    places.push_back(20 * i);
  }
  const LayoutRef wide = Layout::sequence(parts, counts, places);
  expect_same(wide, 2);
  expect_same(Layout::repeat(wide, 3, 5000), 1);
  const LayoutRef nested = Layout::sequence({wide, number, wide}, {2, 1, 1}, {0, 9000, 10'000});
  expect_same(nested, 1);
}

}  // namespace
