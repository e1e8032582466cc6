// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/place/rankfile.hpp"

#include <gtest/gtest.h>

namespace tutti::launcher {
namespace {

std::string problem(const char* text) {
  const auto lines = parse_rankfile(text, "f");
  return lines ? "none" : lines.error().message();
}

TEST(Rankfile, LinesOfRanks) {
  const auto lines =
      parse_rankfile("# comment\nrank 1=node2 slot=0-1\n\nrank 0 = +n0 slot = 1:*  # more\nrank 2=n3\n", "f");
  ASSERT_TRUE(lines) << lines.error().message();
  EXPECT_EQ(*lines, (std::vector<RankLine>{{"+n0", "1:*"}, {"node2", "0-1"}, {"n3", ""}}));
}

TEST(Rankfile, WhatIsWrongIsSaidWithItsLine) {
  EXPECT_EQ(problem("rank 0=a\nrnk 1=b\n"), "f:2: 'rnk 1=b' is not a line such as 'rank 0=node1 slot=0-1'");
  EXPECT_EQ(problem("rank 0=a\nrank 0=b\n"), "f:2: rank 0 has a place already");
  EXPECT_EQ(problem("rank 1=a\n"), "f: rank 0 has no place, and rank 1 has one");
  EXPECT_EQ(problem("# nothing\n"), "f: names no rank; a line is 'rank 0=node1 slot=0-1'");
  for (const char* wrong : {"rank -1=a", "rank x=a", "rank 0", "rank 0=", "rank 0=-x", "rank 0=a slot",
                            "rank 0=a slot=", "rank 0=a slot=0 more", "rank 0=a cores=0"})
    EXPECT_NE(problem(wrong).find("is not a line such as"), std::string::npos) << wrong;
}

}  // namespace
}  // namespace tutti::launcher
