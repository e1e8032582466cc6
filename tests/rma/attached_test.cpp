// SPDX-License-Identifier: BSD-3-Clause
// The memory that is attached to a window, against a plain list of bytes; and which runs of a
// layout lie in it, against the layout's own packing.
#include "rma/attached.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <ranges>
#include <set>
#include <vector>

#include "base/layout.hpp"

namespace {

using tutti::Layout;
using tutti::LayoutRef;
using tutti::rma::Attached;

TEST(Attached, regions_that_touch_are_one_until_one_is_detached) {
  Attached memory;
  EXPECT_TRUE(memory.attach(100, 164));
  EXPECT_TRUE(memory.attach(228, 292));
  EXPECT_FALSE(memory.holds(132, 260));
  EXPECT_TRUE(memory.attach(164, 228));
  EXPECT_TRUE(memory.holds(100, 292));
  EXPECT_FALSE(memory.holds(99, 292) || memory.holds(100, 293));
  EXPECT_TRUE(memory.detach(164));
  EXPECT_TRUE(memory.holds(100, 164) && memory.holds(228, 292));
  EXPECT_FALSE(memory.holds(163, 165) || memory.holds(227, 229));
}

TEST(Attached, no_byte_twice_and_what_is_empty_has_none) {
  Attached memory;
  EXPECT_TRUE(memory.attach(100, 200));
  for (const auto& [begin, end] : {std::pair{100, 101}, {199, 300}, {50, 101}, {120, 130}, {0, 999}})
    EXPECT_FALSE(memory.attach(static_cast<uint64_t>(begin), static_cast<uint64_t>(end)));
  EXPECT_TRUE(memory.attach(0, 0) && memory.attach(0, 0) && memory.attach(150, 150));
  EXPECT_TRUE(memory.holds(7, 7));  // no byte
  EXPECT_FALSE(memory.holds(0, 1));
  EXPECT_TRUE(memory.detach(0) && memory.detach(0) && memory.detach(150));
  EXPECT_FALSE(memory.detach(0) || memory.detach(150));
  EXPECT_TRUE(memory.holds(100, 200));
}

TEST(Attached, addresses_do_not_wrap_around) {
  Attached memory;
  EXPECT_TRUE(memory.attach(100, 200));
  const __int128 all = static_cast<__int128>(1) << 64;
  EXPECT_FALSE(memory.holds(all + 100, all + 101));
  EXPECT_FALSE(memory.holds(100 - all, 101 - all));
  EXPECT_FALSE(memory.holds(-1, 101));
}

TEST(Attached, knows_each_byte) {
  std::mt19937 random(7);
  Attached memory;
  std::vector<uint64_t> begins;
  std::vector<int> owner(200, -1);  // a byte's region, by its beginning
  for (int step = 0; step < 20'000; ++step) {
    const auto begin = static_cast<uint64_t>(random() % 190), end = begin + 1 + random() % 10;
    if (random() % 2 && !begins.empty()) {
      const size_t which = random() % begins.size();
      EXPECT_TRUE(memory.detach(begins[which]));
      std::ranges::replace(owner, static_cast<int>(begins[which]), -1);
      begins.erase(begins.begin() + static_cast<std::ptrdiff_t>(which));
    } else {
      const auto bytes = std::ranges::subrange(owner.begin() + static_cast<std::ptrdiff_t>(begin),
                                               owner.begin() + static_cast<std::ptrdiff_t>(end));
      const bool is_free = std::ranges::all_of(bytes, [](int o) { return o < 0; });
      ASSERT_EQ(memory.attach(begin, end), is_free);
      if (!is_free) continue;
      std::ranges::fill(bytes, static_cast<int>(begin));
      begins.push_back(begin);
    }
    const auto low = static_cast<std::ptrdiff_t>(random() % 190);
    const auto high = low + 1 + static_cast<std::ptrdiff_t>(random() % 10);
    ASSERT_EQ(memory.holds(low, high),
              std::all_of(owner.begin() + low, owner.begin() + high, [](int o) { return o >= 0; }));
  }
}

// The bytes that the elements touch: by packing where each byte holds its own number.
std::set<int> touched(const LayoutRef& layout, int64_t count, int base) {
  std::vector<unsigned char> area(256), packed(static_cast<size_t>(count * layout->size()));
  for (size_t i = 0; i < area.size(); ++i) area[i] = static_cast<unsigned char>(i);
  layout->pack(area.data() + base, count, 0, packed.data(), static_cast<int64_t>(packed.size()));
  return {packed.begin(), packed.end()};
}

// With a hole in what is attached, wherever it is: true exactly if each byte that is touched is
// held, and what is missed is touched and not held.
void compare(const LayoutRef& layout, int64_t count) {
  constexpr int kBase = 128;
  ASSERT_NE(layout, nullptr);
  const std::set<int> bytes = touched(layout, count, kBase);
  for (int hole = 0; hole < 256; ++hole)
    for (const int width : {1, 3, 40}) {
      Attached memory;
      if (hole > 0) memory.attach(0, static_cast<uint64_t>(hole));
      if (hole + width < 256) memory.attach(static_cast<uint64_t>(hole + width), 256);
      const auto touches = [&](int64_t low, int64_t high) {
        return std::ranges::any_of(bytes, [&](int b) { return b >= low && b < high; });
      };
      Layout::Run missed;
      const bool held = layout->all_runs(
          kBase, count, [&](const Layout::Run& run) { return memory.holds(run.low, run.high); }, missed);
      ASSERT_EQ(held, !touches(hole, hole + width)) << "hole of " << width << " at " << hole;
      if (held) continue;
      ASSERT_FALSE(memory.holds(missed.low, missed.high));
      for (auto b = missed.low; b < missed.high; ++b)
        ASSERT_TRUE(bytes.contains(static_cast<int>(b))) << "what is told missed is a gap";
    }
}

TEST(LayoutRuns, of_every_shape) {
  const LayoutRef byte = Layout::dense(1), four = Layout::dense(4, 4);
  compare(byte, 1);
  compare(four, 9);
  compare(four, 0);
  compare(Layout::dense(0), 5);
  compare(Layout::repeat(four, 5, 12), 1);    // blocks
  compare(Layout::repeat(four, 5, -12), 1);   // downwards
  compare(Layout::resized(four, -8, 10), 7);  // elements with gaps
  compare(Layout::resized(four, 0, -9), 7);   // that go down
  compare(Layout::resized(four, 0, 0), 3);    // all at one place
  compare(Layout::sequence({four, byte, four}, {1, 2, 1}, {-60, 0, 33}), 1);
  const LayoutRef record = Layout::sequence({four, byte}, {1, 1}, {0, 7});
  compare(record, 6);
  compare(Layout::repeat(record, 4, -16), 1);
  compare(Layout::repeat(Layout::repeat(record, 2, 20), 3, 40), 1);  // elements of elements
  compare(Layout::sequence({record, four}, {2, 3}, {20, -20}), 2);
  std::vector<LayoutRef> many(70, byte);  // too many to be taken in
  std::vector<int64_t> ones(70, 1), places(70);
  for (size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int64_t>(i * i % 97) - 20;
  std::set<int64_t> seen;
  for (size_t i = places.size(); i-- > 0;)
    if (!seen.insert(places[i]).second) {
      places.erase(places.begin() + static_cast<std::ptrdiff_t>(i));
      many.pop_back();
      ones.pop_back();
    }
  compare(Layout::sequence(many, ones, places), 1);
}

// Long vectors in few regions are asked about seldom.
TEST(LayoutRuns, are_asked_for_by_halves) {
  const LayoutRef vector = Layout::repeat(Layout::dense(4, 4), 1 << 20, 8);
  Attached memory;
  memory.attach(0, (4 << 20) + 4);
  memory.attach((4 << 20) + 8, 9 << 20);  // what is not attached is a gap of the vector's
  int asked = 0;
  Layout::Run missed;
  EXPECT_TRUE(
      vector->all_runs(0, 1, [&](const Layout::Run& run) { return ++asked, memory.holds(run.low, run.high); }, missed));
  EXPECT_LT(asked, 100);
}

}  // namespace
