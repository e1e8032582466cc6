// SPDX-License-Identifier: BSD-3-Clause
// Named sets of ranks as text: what is one, and what each wrong one is told.
#include "base/process_sets.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace tutti {
namespace {

using Ranks = std::vector<int>;

TEST(ProcessSets, RanksAreListsAndRanges) {
  EXPECT_EQ(parse_ranks("0", 1), Ranks{0});
  EXPECT_EQ(parse_ranks("0-3,8", 9), (Ranks{0, 1, 2, 3, 8}));
  EXPECT_EQ(parse_ranks("5,1-2", 6), (Ranks{5, 1, 2}));  // in the order in which they stand
  for (const char* wrong : {"", ",", "a", "1-", "-1", "3-2", "0,0", "0-2,1", "4", "0-4", "1 ", "1,,2", "0x1"})
    EXPECT_EQ(parse_ranks(wrong, 4), std::nullopt) << wrong;
}

TEST(ProcessSets, TextAndRanksGoBothWays) {
  for (const char* text : {"0", "0-3", "0-3,8", "5,1-2", "1,3,5,7", "0-1,3-4"})
    EXPECT_EQ(ranks_as_text(*parse_ranks(text, 10)), text);
  Ranks many(1000);
  std::iota(many.begin(), many.end(), 0);
  EXPECT_EQ(ranks_as_text(many), "0-999");
}

TEST(ProcessSets, NamesMayLookLikeAddresses) {
  const auto sets = parse_process_sets("left:0-1;app://right/half:2,3", 4);
  ASSERT_TRUE(sets) << sets.error().message();
  ASSERT_EQ(sets->size(), 2u);
  EXPECT_EQ((*sets)[0].name, "left");
  EXPECT_EQ((*sets)[0].ranks, (Ranks{0, 1}));
  EXPECT_EQ((*sets)[1].name, "app://right/half");
  EXPECT_EQ((*sets)[1].ranks, (Ranks{2, 3}));
  EXPECT_TRUE(parse_process_sets("", 4));
}

TEST(ProcessSets, WrongOnesGetASentence) {
  const auto told = [](const std::string& text) {
    const auto sets = parse_process_sets(text, 4);
    return sets ? std::string("none") : sets.error().message();
  };
  EXPECT_NE(told("left:0-4").find("'left:0-4' is no set of processes"), std::string::npos);
  EXPECT_NE(told("left").find("wants a name and ranks below 4"), std::string::npos);
  EXPECT_NE(told(":1").find("no set"), std::string::npos);
  EXPECT_NE(told("mpi://WORLD:1").find("name of MPI's or Tutti's own"), std::string::npos);
  EXPECT_NE(told("a:1;a:2").find("given twice"), std::string::npos);
  std::string long_name(2000, 'n');
  long_name += ":1";
  EXPECT_NE(told(long_name).find("longer than"), std::string::npos);
}

}  // namespace
}  // namespace tutti
