// SPDX-License-Identifier: BSD-3-Clause
// The map of a job as a text.
#include "boot/mapping.hpp"

#include <gtest/gtest.h>

namespace tutti::boot {
namespace {

TEST(Mapping, GivesTheNodeOfEachRank) {
  EXPECT_EQ(nodes_of_mapping("(vector,(0,1,3))", 3), (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(nodes_of_mapping("(vector,(0,2,1),(0,2,1))", 4), (std::vector<int>{0, 1, 0, 1}));
  EXPECT_EQ(nodes_of_mapping("(vector,(2,1,1),(0,2,2))", 5), (std::vector<int>{2, 0, 0, 1, 1}));
}

TEST(Mapping, WhatIsNoMapOfTheseRanksIsNone) {
  for (const char* text :
       {"", "(vector", "(vector,(0,1,3)", "(vector,(0,1))", "(vector,(0,1,2))", "(vector,(0,1,4))", "(vector,(-1,1,3))",
        "(vector,(0,2000000000,2000000000))", "(vector,(0,2000000000,0))", "(vector,(0,1,3))x", "node1,node2"})
    EXPECT_TRUE(nodes_of_mapping(text, 3).empty()) << text;
}

}  // namespace
}  // namespace tutti::boot
