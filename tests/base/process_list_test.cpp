// SPDX-License-Identifier: BSD-3-Clause
// Lists of processes against plain lists, whatever is regular in them; what they cost; and who is on which node.
#include "base/process_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <random>

#include "allocated.hpp"
#include "base/node_layout.hpp"

namespace tutti {
namespace {

using List = std::vector<int>;
constexpr int kMillion = 1000000;

// All that a list answers, against the numbers themselves.
void expect_same(const ProcessList& list, const List& numbers) {
  ASSERT_EQ(list.size(), static_cast<int>(numbers.size()));
  EXPECT_EQ(list.empty(), numbers.empty());
  EXPECT_EQ(list.to_vector(), numbers);
  EXPECT_TRUE(std::ranges::equal(list, numbers));
  EXPECT_EQ(list, ProcessList(numbers));
  const ProcessRanks rank_of(list, static_cast<int64_t>(numbers.size()));
  for (size_t rank = 0; rank < numbers.size(); ++rank) {
    EXPECT_EQ(list[static_cast<int>(rank)], numbers[rank]);
    EXPECT_EQ(list.rank_of(numbers[rank]), static_cast<int>(rank));
    EXPECT_EQ(rank_of(numbers[rank]), static_cast<int>(rank));
  }
  for (int process = -3; process < 60; ++process) {
    const bool is_there = std::ranges::find(numbers, process) != numbers.end();
    EXPECT_EQ(list.contains(process), is_there) << process;
    EXPECT_EQ(rank_of(process) >= 0, is_there) << process;
  }
}

List counted(int first, int count, int stride) {
  List numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(first + i * stride);
  return numbers;
}

TEST(ProcessList, IsWhatItIsMadeOf) {
  expect_same({}, {});
  expect_same({7}, {7});
  expect_same({3, 9}, {3, 9});
  expect_same({9, 3}, {9, 3});
  expect_same({0, 1, 2, 3, 9, 7}, {0, 1, 2, 3, 9, 7});
  expect_same({40, 3, 17, 5, 29}, {40, 3, 17, 5, 29});
}

TEST(ProcessList, RegularOnes) {
  for (const int stride : {1, 2, 7, -1, -3})
    for (const int count : {1, 2, 3, 6}) {
      const int first = stride > 0 ? 4 : 30;
      const List numbers = counted(first, count, stride);
      const ProcessList list = ProcessList::range(first, count, stride);
      EXPECT_TRUE(list.is_regular());
      EXPECT_TRUE(ProcessList(numbers).is_regular());
      expect_same(list, numbers);
    }
}

// Runs and single numbers in any order, of which none comes twice.
TEST(ProcessList, AnyMixture) {
  std::mt19937 random(28);
  for (int turn = 0; turn < 500; ++turn) {
    List all(50), numbers;
    std::iota(all.begin(), all.end(), 0);
    if (turn % 3 == 0) std::ranges::shuffle(all, random);
    while (numbers.size() < random() % 40 + 1 && !all.empty()) {
      const size_t at = random() % all.size(), step = random() % 3 + 1, count = random() % 9 + 1;
      List taken;
      for (size_t i = at; i < all.size() && taken.size() < count; i += step) taken.push_back(all[i]);
      for (const int number : taken) std::erase(all, number);
      if (random() % 4 == 0) std::ranges::reverse(taken);
      numbers.insert(numbers.end(), taken.begin(), taken.end());
    }
    ASSERT_NO_FATAL_FAILURE(expect_same(ProcessList(numbers), numbers));
  }
}

TEST(ProcessList, EqualityLooksAtTheNumbers) {
  EXPECT_EQ(ProcessList::range(5, 1, 3), ProcessList::range(5, 1, 9));  // one number has no stride
  EXPECT_EQ(ProcessList::range(5, 0), ProcessList::range(8, 0));
  EXPECT_NE(ProcessList::range(0, 4), ProcessList::range(0, 5));
  EXPECT_NE(ProcessList::range(0, 4), ProcessList::range(1, 4));
  EXPECT_NE(ProcessList::range(0, 4), ProcessList::range(0, 4, 2));
  EXPECT_NE(ProcessList({1, 2, 9, 4}), ProcessList({1, 2, 9, 5}));
  EXPECT_NE(ProcessList({1, 2, 9, 4}), ProcessList({1, 2, 3, 4}));
}

TEST(ProcessList, TakesNoMemoryWhereItIsRegular) {
  const Allocated all;
  const ProcessList world = ProcessList::range(0, kMillion);
  const ProcessList odd = ProcessList::range(1, kMillion / 2, 2);
  const ProcessList backwards = ProcessList::range(kMillion - 1, kMillion, -1);
  const ProcessList copy = odd;
  EXPECT_EQ(world[kMillion - 1], kMillion - 1);
  EXPECT_EQ(odd.rank_of(999), 499);
  EXPECT_EQ(backwards[0], kMillion - 1);
  ProcessList::Builder builder;
  builder.add(world);
  const ProcessList built = builder.take();
  EXPECT_TRUE(built.is_regular());
  EXPECT_LE(all.most(), 64);  // one piece, while it was built
  EXPECT_EQ(all.bytes(), 0);
}

TEST(ProcessList, TakesAFewWordsForAFewPieces) {
  const Allocated all;
  ProcessList::Builder builder;
  for (int process = 0; process < kMillion; ++process)
    if (process != 4711 && process != 80000) builder.add(process);
  const ProcessList without_two = builder.take();
  EXPECT_LE(all.bytes(), 256);
  EXPECT_EQ(without_two[4711], 4712);
  EXPECT_EQ(without_two[kMillion - 3], kMillion - 1);
  EXPECT_EQ(without_two.rank_of(80000), -1);
}

TEST(ProcessList, TakesAListWhereNothingIsRegular) {
  List numbers(kMillion);
  std::iota(numbers.begin(), numbers.end(), 0);
  std::ranges::shuffle(numbers, std::mt19937(1));
  const Allocated all;
  const ProcessList list(numbers);
  EXPECT_LE(all.bytes(), kMillion * 4 + 4096);
  for (int rank = 0; rank < kMillion; ++rank) ASSERT_EQ(list[rank], numbers[static_cast<size_t>(rank)]);
  const ProcessRanks rank_of(list, kMillion);
  for (int rank = 0; rank < kMillion; rank += 997) ASSERT_EQ(rank_of(numbers[static_cast<size_t>(rank)]), rank);
}

// ---- nodes

void expect_layout(const List& places) {
  std::map<int, int> number_of;
  std::vector<List> members;
  for (int rank = 0; rank < static_cast<int>(places.size()); ++rank) {
    const auto [at, first] = number_of.emplace(places[static_cast<size_t>(rank)], static_cast<int>(members.size()));
    if (first) members.emplace_back();
    members[static_cast<size_t>(at->second)].push_back(rank);
  }
  for (int rank = 0; rank < static_cast<int>(places.size()); ++rank) {
    const NodeLayout layout(places, rank);
    ASSERT_EQ(layout.nodes(), static_cast<int>(members.size()));
    const int mine = number_of[places[static_cast<size_t>(rank)]];
    EXPECT_EQ(layout.node(), mine);
    EXPECT_EQ(layout.node_of(rank), mine);
    EXPECT_EQ(layout.mine().to_vector(), members[static_cast<size_t>(mine)]);
    EXPECT_EQ(layout.mine()[layout.local()], rank);
    size_t most = 0, fewest = places.size();
    bool contiguous = true;
    for (int node = 0; node < layout.nodes(); ++node) {
      const List& here = members[static_cast<size_t>(node)];
      EXPECT_EQ(layout.members(node).to_vector(), here);
      most = std::max(most, here.size());
      fewest = std::min(fewest, here.size());
      contiguous = contiguous && here.back() - here.front() + 1 == static_cast<int>(here.size());
    }
    EXPECT_EQ(layout.most(), static_cast<int>(most));
    EXPECT_EQ(layout.equal(), most == fewest);
    EXPECT_EQ(layout.contiguous(), contiguous);
  }
}

TEST(NodeLayout, HoweverRanksAreDealtOut) {
  expect_layout({4});
  expect_layout({4, 4, 4, 4});
  expect_layout({0, 0, 0, 1, 1, 1, 2, 2, 2});  // in blocks
  expect_layout({9, 9, 9, 1, 1, 1, 2});        // the last one shorter
  expect_layout({0, 1, 2, 0, 1, 2});           // in turn
  expect_layout({0, 1, 2, 0, 1});
  expect_layout({0, 0, 1, 1, 1, 2});  // a fuller one in the middle
  expect_layout({0, 1, 1, 0, 2, 0});
  std::mt19937 random(3);
  for (int turn = 0; turn < 100; ++turn) {
    List places(random() % 20 + 1);
    for (int& place : places) place = static_cast<int>(random() % 4) * 10;
    ASSERT_NO_FATAL_FAILURE(expect_layout(places));
  }
}

TEST(NodeLayout, TakesNoMemoryWhereItIsRegular) {
  List blocks(kMillion), turns(kMillion);
  for (int rank = 0; rank < kMillion; ++rank) {
    blocks[static_cast<size_t>(rank)] = rank / 128;
    turns[static_cast<size_t>(rank)] = rank % 7813;
  }
  for (const List& places : {std::cref(blocks), std::cref(turns)}) {
    const Allocated all;
    const NodeLayout layout(places, 4711);
    EXPECT_EQ(all.bytes(), 0);
    EXPECT_EQ(layout.nodes(), 7813);
    EXPECT_EQ(layout.mine()[layout.local()], 4711);
  }
}

}  // namespace
}  // namespace tutti
