// SPDX-License-Identifier: BSD-3-Clause
// Colors and keys in runs, joined in whatever order reductions join what neighbours have: the same members as by sorting
// all of them; few runs where colors and keys are regular.
#include "base/split_runs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace tutti {
namespace {

struct Said {
  int color, key;
};
using Rule = std::function<Said(int rank)>;

// In what order a reduction may join them: over trees, from one end to the other, at random.
enum class Shape { by_halves, by_powers, from_last, from_first, at_random };

SplitRuns joined(const Rule& rule, int begin, int end, Shape shape, std::mt19937& random) {
  if (end - begin == 1) {
    const Said said = rule(begin);
    return {begin, said.color, said.key};
  }
  if (shape == Shape::from_first || shape == Shape::from_last) {
    SplitRuns all;
    for (int i = 0; i < end - begin; ++i) {
      const int rank = shape == Shape::from_first ? begin + i : end - 1 - i;
      const SplitRuns one(rank, rule(rank).color, rule(rank).key);
      all = shape == Shape::from_first ? SplitRuns::joined(all, one) : SplitRuns::joined(one, all);
    }
    return all;
  }
  int lower = (end - begin) / 2;
  if (shape == Shape::by_powers)
    for (lower = 1; 2 * lower < end - begin;) lower *= 2;
  if (shape == Shape::at_random) lower = 1 + static_cast<int>(random() % static_cast<unsigned>(end - begin - 1));
  return SplitRuns::joined(joined(rule, begin, begin + lower, shape, random),
                           joined(rule, begin + lower, end, shape, random));
}

std::map<int, std::vector<int>> sorted(const Rule& rule, int ranks) {
  std::map<int, std::vector<int>> members;
  for (int rank = 0; rank < ranks; ++rank)
    if (rule(rank).color >= 0) members[rule(rank).color].push_back(rank);
  for (auto& [color, list] : members) std::ranges::stable_sort(list, {}, [&](int rank) { return rule(rank).key; });
  return members;
}

constexpr Shape kShapes[] = {Shape::by_halves, Shape::by_powers, Shape::from_last, Shape::from_first, Shape::at_random};

// `most`: so many runs at the most; -1: as many as it takes, or too many.
void expect_same(const Rule& rule, int ranks, int most) {
  std::mt19937 random(static_cast<unsigned>(ranks));
  const std::map<int, std::vector<int>> expected = sorted(rule, ranks);
  for (const Shape shape : kShapes) {
    SCOPED_TRACE(testing::Message() << ranks << " ranks, shape " << static_cast<int>(shape));
    const SplitRuns all = joined(rule, 0, ranks, shape, random);
    if (most < 0 && all.too_many()) continue;
    ASSERT_FALSE(all.too_many());
    if (most >= 0) {
      EXPECT_LE(all.runs().size(), static_cast<size_t>(most));
    }
    for (const auto& [color, members] : expected) ASSERT_EQ(all.members(color).to_vector(), members) << color;
    EXPECT_TRUE(all.members(1 << 30).empty());
  }
}

TEST(SplitRuns, OfNobodyAndOfOne) {
  EXPECT_TRUE(SplitRuns().runs().empty());
  EXPECT_TRUE(SplitRuns(3, -1, 0).runs().empty());
  const SplitRuns one(3, 5, -7);
  EXPECT_EQ(one.members(5).to_vector(), std::vector{3});
  EXPECT_EQ(SplitRuns::joined(SplitRuns(), one).members(5).to_vector(), std::vector{3});
  EXPECT_EQ(SplitRuns::joined(one, SplitRuns(4, -1, 0)).members(5).to_vector(), std::vector{3});
}

TEST(SplitRuns, RegularOnesAreFew) {
  for (const int ranks : {2, 3, 7, 8, 64, 100, 513, 1000}) {
    for (const int k : {1, 2, 3, 4, 7, 8, 48, 100, 128}) {
      SCOPED_TRACE(testing::Message() << "k = " << k);
      const std::pair<const char*, Rule> rules[] = {
          {"in turn", [=](int r) { return Said{r % k, 0}; }},
          {"in turn, by rank", [=](int r) { return Said{r % k, r}; }},
          {"in turn, backwards", [=](int r) { return Said{r % k, -r}; }},
          {"in blocks", [=](int r) { return Said{r / k, 0}; }},
          {"in blocks, by place", [=](int r) { return Said{r / k, r % k}; }},
          {"in blocks, backwards", [=](int r) { return Said{r / k, ranks - r}; }},
          {"one of each block", [=](int r) { return Said{r % k ? -1 : 0, r}; }},
          {"two parts", [=](int r) { return Said{r < ranks / 2, r}; }},
          {"color by large steps", [=](int r) { return Said{(r / k) * 1000 + 7, 0}; }},
          {"colors that fall", [=](int r) { return Said{(ranks - r) / k, 0}; }},
      };
      for (const auto& [name, rule] : rules) {
        SCOPED_TRACE(name);
        ASSERT_NO_FATAL_FAILURE(expect_same(rule, ranks, 16));
      }
      // Several lines of a color: where they are short, their ends are taken for steps.
      const std::pair<const char*, Rule> in_lines[] = {
          {"one of each block, and the others", [=](int r) { return Said{r % k ? 1 : 0, 0}; }},
          {"all by their place in a block", [=](int r) { return Said{0, r % k}; }},
          {"blocks in turn", [=](int r) { return Said{r / k % 3, 0}; }},
      };
      for (const auto& [name, rule] : in_lines) {
        SCOPED_TRACE(name);
        ASSERT_NO_FATAL_FAILURE(expect_same(rule, ranks, k >= 48 ? 16 : -1));
      }
    }
  }
}

TEST(SplitRuns, PlanesOfAGrid) {
  constexpr int x = 6, y = 10, z = 14;
  expect_same([](int r) { return Said{r / (y * z), r}; }, x * y * z, 4);
  expect_same([](int r) { return Said{r % z, r}; }, x * y * z, 4);
  expect_same([](int r) { return Said{r / z % y, r}; }, x * y * z, 2 * y);
  expect_same([](int r) { return Said{r / (y * z) * z + r % z, r}; }, x * y * z, 2 * x);
}

TEST(SplitRuns, IrregularOnesAreRightOrTooMany) {
  std::mt19937 random(7);
  for (int turn = 0; turn < 600; ++turn) {
    const int ranks = 1 + static_cast<int>(random() % 90);
    const unsigned colors = 1 + random() % 6, keys = 1 + random() % 5, few = random() % 4;
    std::vector<Said> said;
    for (int rank = 0; rank < ranks; ++rank) {
      const bool again = rank > 2 && few && random() % 4;  // mostly as one of those before
      said.push_back(again ? said[static_cast<size_t>(rank) - few]
                           : Said{static_cast<int>(random() % colors) - 1, static_cast<int>(random() % keys)});
    }
    SCOPED_TRACE(testing::Message() << "turn " << turn);
    ASSERT_NO_FATAL_FAILURE(expect_same([&](int rank) { return said[static_cast<size_t>(rank)]; }, ranks, -1));
  }
}

// Keys whose steps have more bits than they.
TEST(SplitRuns, KeysAtTheEndsOfTheirRange) {
  constexpr int kLeast = std::numeric_limits<int>::min(), kMost = std::numeric_limits<int>::max();
  expect_same([](int r) { return Said{0, r % 2 ? kLeast : kMost}; }, 20, -1);
  expect_same([](int r) { return Said{r % 2 ? kMost : 0, r % 3 ? kMost : kLeast}; }, 20, -1);
  expect_same([](int r) { return Said{kMost - r, kMost - r}; }, 20, 2);
}

TEST(SplitRuns, SayWhenTheyAreTooMany) {
  std::mt19937 random(5);
  std::vector<Said> said(2000);
  for (Said& each : said) each = {static_cast<int>(random() % 100), static_cast<int>(random())};
  std::mt19937 again(5);
  const SplitRuns all =
      joined([&](int rank) { return said[static_cast<size_t>(rank)]; }, 0, 2000, Shape::by_halves, again);
  EXPECT_TRUE(all.too_many());
  EXPECT_TRUE(SplitRuns::joined(SplitRuns(0, 1, 1), all).too_many());
}

}  // namespace
}  // namespace tutti
