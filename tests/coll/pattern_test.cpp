// SPDX-License-Identifier: BSD-3-Clause
// Rank arithmetic as tables.
#include "coll/pattern.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "coll/halving.hpp"

namespace tutti::coll {
namespace {

TEST(Fold, SevenRanksOntoFour) {
  const int places[] = {0, 0, 1, 1, 2, 2, 3};
  const int partners[] = {1, 0, 3, 2, 5, 4, -1};
  for (int r = 0; r < 7; ++r) {
    const Fold fold(r, 7);
    EXPECT_EQ(fold.width, 4);
    EXPECT_EQ(fold.place, places[r]);
    EXPECT_EQ(fold.partner, partners[r]);
    EXPECT_EQ(fold.is_guest(), r == 1 || r == 3 || r == 5);
    EXPECT_EQ(fold.is_host(), r == 0 || r == 2 || r == 4);
  }
  const Fold six(6, 7);
  EXPECT_EQ(six.peer(1), 4);
  EXPECT_EQ(six.peer(2), 2);
}

TEST(Fold, PlacesAreInRankOrderAndCoverAllRanks) {
  for (int size = 1; size <= 300; ++size) {
    const Fold fold(0, size);
    EXPECT_EQ(fold.first(fold.width), size);
    for (int at = 0; at < fold.width; ++at)
      for (int r = fold.first(at); r < fold.first(at + 1); ++r) {
        EXPECT_EQ(fold.place_of(r), at);
        EXPECT_EQ(Fold(r, size).is_guest(), r != fold.first(at));
      }
  }
}

TEST(Binomial, ChildrenAndSubtreesOfSeven) {
  const auto children = [](int node) {
    std::vector<int> all;
    Binomial::each_child(node, 7, [&](int child) { all.push_back(child); });
    return all;
  };
  EXPECT_EQ(children(0), (std::vector<int>{1, 2, 4}));
  EXPECT_EQ(children(2), (std::vector<int>{3}));
  EXPECT_EQ(children(4), (std::vector<int>{5, 6}));
  EXPECT_EQ(children(6), (std::vector<int>{}));
  const int subtrees[] = {7, 1, 2, 1, 3, 1, 1}, parents[] = {0, 0, 0, 2, 0, 4, 4};
  for (int node = 0; node < 7; ++node) {
    EXPECT_EQ(Binomial::subtree(node, 7), subtrees[node]);
    EXPECT_EQ(Binomial::parent(node), parents[node]);
  }
}

TEST(Binomial, SubtreesAreTheNodeAndItsChildrensInOrder) {
  for (int size = 1; size <= 300; ++size)
    for (int node = 0; node < size; ++node) {
      int next = node + 1;
      std::vector<int> near, far;
      Binomial::each_child(node, size, [&](int child) {
        EXPECT_EQ(child, next);
        EXPECT_EQ(Binomial::parent(child), node);
        next += Binomial::subtree(child, size);
        near.push_back(child);
      });
      EXPECT_EQ(next, node + Binomial::subtree(node, size));
      Binomial::each_child_farthest_first(node, size, [&](int child) { far.push_back(child); });
      EXPECT_EQ(std::vector<int>(near.rbegin(), near.rend()), far) << node << " of " << size;
    }
}

TEST(Split, CoversEverythingEvenly) {
  for (const int64_t total : {0, 1, 6, 7, 8, 1000})
    for (const int64_t parts : {1, 2, 7, 64}) {
      const Split split{total, parts};
      int64_t next = 0;
      for (int64_t i = 0; i < parts; ++i) {
        EXPECT_EQ(split.begin(i), next);
        EXPECT_LE(split.size(i), (total + parts - 1) / parts);
        EXPECT_GE(split.size(i), total / parts);
        next += split.size(i);
      }
      EXPECT_EQ(next, total);
    }
}

TEST(Rotation, PutsTheRootFirst) {
  const Rotation places{5, 7};
  const int ranks[] = {5, 6, 0, 1, 2, 3, 4};
  for (int at = 0; at < 7; ++at) {
    EXPECT_EQ(places.rank(at), ranks[at]);
    EXPECT_EQ(places.place(ranks[at]), at);
  }
}

TEST(Runs, BreakAtTheEnd) {
  const auto runs = [](int first, int n) {
    std::vector<std::pair<int, int>> all;
    each_run(first, n, 7, [&](int at, int length) { all.emplace_back(at, length); });
    return all;
  };
  using Runs = std::vector<std::pair<int, int>>;
  EXPECT_EQ(runs(2, 3), (Runs{{2, 3}}));
  EXPECT_EQ(runs(5, 4), (Runs{{5, 2}, {0, 2}}));
  EXPECT_EQ(runs(7, 2), (Runs{{0, 2}}));
  EXPECT_EQ(runs(4, 3), (Runs{{4, 3}}));
}

TEST(Halving, EndsWithTheReversedPlace) {
  for (const int width : {1, 2, 4, 64})
    for (int place = 0; place < width; ++place) {
      const std::vector<Range> ranges = halving_ranges(place, width);
      EXPECT_EQ(ranges.back().begin, reversed(place, width));
      EXPECT_EQ(ranges.back().size(), 1);
      for (size_t i = 1; i < ranges.size(); ++i) {
        const Range other = other_half(ranges[i - 1], ranges[i]);
        EXPECT_EQ(other.size() + ranges[i].size(), ranges[i - 1].size());
      }
    }
}

}  // namespace
}  // namespace tutti::coll
