// SPDX-License-Identifier: BSD-3-Clause
// Rules as text: which algorithm they choose, and what is said about wrong ones.
#include "coll/selection.hpp"

#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "coll/between.hpp"

namespace tutti::coll {
namespace {

Shape shape(Collective kind, int size, int64_t bytes, bool commutative = true) {
  Shape s;
  s.kind = kind;
  s.size = size;
  s.bytes = bytes;
  s.commutative = commutative;
  return s;
}

std::shared_ptr<const Selection> parsed(std::string_view text) {
  auto selection = Selection::parse(text, "rules");
  EXPECT_TRUE(selection) << selection.error().message();
  return *selection;
}
std::string refusal(std::string_view text) {
  auto selection = Selection::parse(text, "etc/rules");
  if (selection) return "accepted";
  EXPECT_EQ(selection.error().mpi_class(), MPI_ERR_ARG);
  return selection.error().message();
}

TEST(SelectionTest, FirstMatchWins) {
  const auto rules = parsed(
      "# comment\n"
      "\n"
      "allreduce bytes<=4k ranks>2 recursive_doubling  # another\n"
      "allreduce bytes>=1m commutative=yes ring\r\n"
      "allreduce halving_doubling\n"
      "allgather power_of_two=yes recursive_doubling");
  const auto name = [&](const Shape& s) { return rules->choose(s).name; };
  EXPECT_EQ(name(shape(Collective::allreduce, 3, 4096)), "recursive_doubling");
  EXPECT_EQ(name(shape(Collective::allreduce, 3, 4097)), "halving_doubling");
  EXPECT_EQ(name(shape(Collective::allreduce, 2, 8)), "halving_doubling");
  EXPECT_EQ(name(shape(Collective::allreduce, 3, 1 << 20)), "ring");
  EXPECT_EQ(name(shape(Collective::allreduce, 3, 1 << 20, false)), "halving_doubling");
  EXPECT_EQ(name(shape(Collective::allgather, 8, 8)), "recursive_doubling");
  // No rule: the first in the table, which can always serve.
  EXPECT_EQ(name(shape(Collective::allgather, 7, 8)), algorithms(Collective::allgather)[0].name);
  EXPECT_EQ(name(shape(Collective::scan, 7, 8)), algorithms(Collective::scan)[0].name);
}

TEST(SelectionTest, RelationsAndNumbers) {
  const auto chosen = [&](std::string_view condition, int64_t bytes) {
    const auto rules = parsed("bcast " + std::string(condition) + " chain\nbcast binomial");
    return rules->choose(shape(Collective::bcast, 4, bytes)).name == "chain";
  };
  EXPECT_TRUE(chosen("bytes<10", 9));
  EXPECT_FALSE(chosen("bytes<10", 10));
  EXPECT_TRUE(chosen("bytes<=10", 10));
  EXPECT_TRUE(chosen("bytes=2K", 2048));
  EXPECT_FALSE(chosen("bytes=2k", 2049));
  EXPECT_TRUE(chosen("bytes>=1g", int64_t{1} << 30));
  EXPECT_FALSE(chosen("bytes>1g", int64_t{1} << 30));
  EXPECT_TRUE(chosen("ranks=4", 0));
}

TEST(SelectionTest, BytesOfARankAreACondition) {
  const auto rules = parsed(
      "reduce_scatter rank_bytes<=1k halving\nallgather rank_bytes<=1k bruck\nallgather ring\n"
      "allgatherv rank_bytes<=1k bruck\nreduce_scatter pairwise");
  const auto name = [&](Collective kind, int64_t bytes) { return rules->choose(shape(kind, 100, bytes)).name; };
  // Of a vector and of all blocks together its share, of a block the block.
  EXPECT_EQ(name(Collective::reduce_scatter, 100 << 10), "halving");
  EXPECT_EQ(name(Collective::reduce_scatter, 101 << 10), "pairwise");
  EXPECT_EQ(name(Collective::allgatherv, 100 << 10), "bruck");
  EXPECT_EQ(name(Collective::allgatherv, 101 << 10), "ring");
  EXPECT_EQ(name(Collective::allgather, 1 << 10), "bruck");
  EXPECT_EQ(name(Collective::allgather, 2 << 10), "ring");
  EXPECT_EQ(refusal("alltoallv rank_bytes<4 linear"),
            "etc/rules:1: alltoallv cannot be chosen by bytes: no rank knows the others' counts");
}

// Nobody here can measure them; what two cores have measured, up to eight ranks, stays as it is.
TEST(SelectionTest, ManyRanksOnManyNodesShareTheNet) {
  const auto nodes_of = [](int ranks, int node_ranks) {
    std::vector<int> places;
    for (int i = 0; i < ranks; ++i) places.push_back(i / node_ranks);
    return NodeLayout(places, 0);
  };
  const NodeLayout many = nodes_of(2048, 64), few = nodes_of(128, 64), small = nodes_of(8, 4);
  const auto name = [](Collective kind, int64_t bytes, int size, const NodeLayout& nodes) {
    Shape s = shape(kind, size, bytes);
    s.nodes = &nodes;
    return Selection::shipped()->choose(s).name;
  };
  EXPECT_EQ(name(Collective::allreduce, 16 << 20, 2048, many), "striped");
  EXPECT_EQ(name(Collective::allreduce, 16 << 20, 128, few), "striped");
  EXPECT_EQ(name(Collective::allreduce, 16 << 20, 8, small), "hierarchical");
  EXPECT_EQ(name(Collective::allreduce, 8, 2048, many), "hierarchical");
  EXPECT_EQ(name(Collective::reduce_scatter, 8 * 2048, 2048, many), "striped");
  EXPECT_EQ(name(Collective::reduce_scatter, 16 << 20, 8, small), "pairwise");
  EXPECT_EQ(name(Collective::allgatherv, 8 * 2048, 2048, many), "hierarchical");
}

TEST(SelectionTest, RefusesWhatCannotServeOnceAndTakesTheNext) {
  const auto rules = parsed("allreduce ring\nallreduce halving_doubling\nallgather recursive_doubling");
  testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(rules->choose(shape(Collective::allreduce, 4, 8, false)).name, "halving_doubling");
  EXPECT_EQ(rules->choose(shape(Collective::allreduce, 4, 8, true)).name, "ring");
  EXPECT_EQ(rules->choose(shape(Collective::allgather, 6, 8)).name, algorithms(Collective::allgather)[0].name);
  const std::string log = testing::internal::GetCapturedStderr();
  const std::string first = "rules:1: allreduce cannot use ring here: it needs a commutative operation";
  EXPECT_NE(log.find(first), std::string::npos) << log;
  EXPECT_EQ(log.find(first, log.find(first) + 1), std::string::npos) << "more than once: " << log;
  EXPECT_NE(log.find("rules:3: allgather cannot use recursive_doubling"), std::string::npos) << log;
}

TEST(SelectionTest, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(refusal("bcast chain\nallreduc ring"),
            "etc/rules:2: no collective is called 'allreduc'; did you mean 'allreduce'?");
  EXPECT_EQ(refusal("allreduce recursive_dubling"),
            "etc/rules:1: allreduce has no algorithm 'recursive_dubling'; did you mean "
            "'recursive_doubling'?");
  EXPECT_EQ(refusal("barrier x"),
            "etc/rules:1: barrier has no algorithm 'x'; there are: dissemination, shared, hierarchical");
  EXPECT_EQ(refusal("allreduce byte<4 ring"), "etc/rules:1: no condition is called 'byte'; did you mean 'bytes'?");
  EXPECT_EQ(refusal("allreduce bytes<4x ring"), "etc/rules:1: '4x' is no number; write one like 4096, 4k or 1m");
  EXPECT_EQ(refusal("allreduce bytes< ring"), "etc/rules:1: '' is no number; write one like 4096, 4k or 1m");
  EXPECT_EQ(refusal("allreduce bytes<99999999999g ring"),
            "etc/rules:1: '99999999999g' is no number; write one like 4096, 4k or 1m");
  EXPECT_EQ(refusal("allreduce ring bytes<4"),
            "etc/rules:1: 'ring' is no condition; write one like bytes<=4k, and the algorithm last");
  EXPECT_EQ(refusal("allreduce commutative=perhaps ring"),
            "etc/rules:1: 'commutative=perhaps' must be commutative=yes or commutative=no");
  EXPECT_EQ(refusal("allreduce commutative<yes ring"),
            "etc/rules:1: 'commutative<yes' must be commutative=yes or commutative=no");
  EXPECT_EQ(refusal("alltoallv bytes<4 linear"),
            "etc/rules:1: alltoallv cannot be chosen by bytes: no rank knows the others' counts");
  EXPECT_EQ(refusal("allreduce"), "etc/rules:1: no algorithm stands behind 'allreduce'");
}

TEST(SelectionTest, OverrideComesFirstThenTheFile) {
  std::string path = testing::TempDir() + "rulesXXXXXX";
  const int fd = mkstemp(path.data());
  ASSERT_GE(fd, 0);
  close(fd);
  std::ofstream(path) << "bcast binomial\nscan chain\n";
  const auto rules = Selection::load("bcast bytes<4k chain; allreduce ring", path);
  ASSERT_TRUE(rules) << rules.error().message();
  EXPECT_EQ((*rules)->choose(shape(Collective::bcast, 4, 8)).name, "chain");
  EXPECT_EQ((*rules)->choose(shape(Collective::bcast, 4, 8192)).name, "binomial");
  EXPECT_EQ((*rules)->choose(shape(Collective::allreduce, 4, 8)).name, "ring");
  EXPECT_EQ((*rules)->choose(shape(Collective::scan, 4, 8)).name, "chain");
  std::ofstream(path) << "bcast nothing\n";
  EXPECT_NE(Selection::load("", path).error().message().find(path + ":1: "), std::string::npos);
  std::remove(path.c_str());
  EXPECT_NE(Selection::load("", path).error().message().find(path), std::string::npos);
  std::ofstream(path).close();
  EXPECT_TRUE(Selection::load("", path)) << "a file without rules";
  std::remove(path.c_str());
  EXPECT_NE(Selection::load("", "/").error().message().find("it is a folder"), std::string::npos);
  EXPECT_NE(Selection::load("bcast chain;scam chain", "").error().message().find("'scan'"), std::string::npos);
}

TEST(SelectionTest, ShippedRulesServeEveryCollectiveWithoutARefusal) {
  testing::internal::CaptureStderr();
  for (int kind = 0; kind < kCollectives; ++kind)
    for (const int size : {1, 2, 3, 8, 9, 100})
      for (int64_t bytes = 0; bytes < int64_t{1} << 30; bytes = bytes * 3 + 1)
        for (const bool commutative : {true, false}) {
          const Shape s = shape(static_cast<Collective>(kind), size, bytes, commutative);
          EXPECT_EQ(objection(Selection::shipped()->choose(s), s), "");
          Shape sharing = s;
          if (size > 1) sharing.small_slot = 4080;
          EXPECT_EQ(objection(Selection::shipped()->choose(sharing), sharing), "");
          if (size > 1) sharing.large_slot = 32768;
          EXPECT_EQ(objection(Selection::shipped()->choose(sharing), sharing), "");
          if (size > 1) sharing.read_rate = 18'000'000'000;
          EXPECT_EQ(objection(Selection::shipped()->choose(sharing), sharing), "");
        }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(SelectionTest, MemoryThatAllRanksShareIsACondition) {
  const auto rules = Selection::parse("bcast shared=yes shared\nbcast shared=no chain", "rules");
  ASSERT_TRUE(rules) << rules.error().message();
  Shape s = shape(Collective::bcast, 4, 8);
  EXPECT_EQ((*rules)->choose(s).name, "chain");
  s.small_slot = 64;
  EXPECT_EQ((*rules)->choose(s).name, "shared");
  s.bytes = s.out_count = 65;  // more than the small lane holds, and there is no other
  EXPECT_EQ((*rules)->choose(s).name, "chain");
  s.large_slot = 128;
  EXPECT_EQ((*rules)->choose(s).name, "shared");
}

TEST(SelectionTest, FastReadsOfPeersAreACondition) {
  Shape s = shape(Collective::alltoall, 2, 1 << 20);
  s.small_slot = 4080;
  s.large_slot = 32768;
  EXPECT_EQ(Selection::shipped()->choose(s).name, "shared");
  s.read_rate = 10'000'000'000;
  EXPECT_EQ(Selection::shipped()->choose(s).name, "shared");
  s.read_rate = 18'000'000'000;
  EXPECT_EQ(Selection::shipped()->choose(s).name, "pairwise");
}

TEST(AlgorithmTable, TheFirstOfEachServesEverythingAndNamesAreUnique) {
  for (int kind = 0; kind < kCollectives; ++kind) {
    const auto all = algorithms(static_cast<Collective>(kind));
    ASSERT_FALSE(all.empty());
    EXPECT_EQ(all[0].needs, Needs::nothing);
    for (size_t i = 0; i < all.size(); ++i)
      for (size_t j = 0; j < i; ++j) EXPECT_NE(all[i].name, all[j].name);
  }
}

// A line that strayed to another collective's would be obeyed in silence.
TEST(SelectionTest, ShippedRulesOfACollectiveStandTogetherAndOnce) {
  std::ifstream file(TUTTI_SOURCE "/conf/collectives.rules");
  ASSERT_TRUE(file);
  std::set<std::string> lines, over;  // over: collectives of this paragraph that others followed
  std::string latest;
  for (std::string line; std::getline(file, line);) {
    const std::string collective = line.substr(0, line.find(' '));
    if (line.empty() || line[0] == '#') {
      over.clear();
      latest.clear();
      continue;
    }
    EXPECT_TRUE(lines.insert(line).second) << line << " stands twice";
    if (collective != latest) over.insert(latest);
    EXPECT_FALSE(over.contains(collective)) << line << " stands apart";
    latest = collective;
  }
  EXPECT_GT(lines.size(), 50u);
}

TEST(AlgorithmTable, TheManualTellsOfEveryAlgorithm) {
  std::ifstream file(TUTTI_SOURCE "/man/tutti-collectives.7");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (int kind = 0; kind < kCollectives; ++kind) {
    EXPECT_NE(page.find(name_of(static_cast<Collective>(kind))), std::string::npos);
    for (const Algorithm& algorithm : algorithms(static_cast<Collective>(kind)))
      EXPECT_NE(page.find(algorithm.name), std::string::npos) << algorithm.name;
  }
  const std::string between = page.substr(std::min(page.find(".SH BETWEEN TWO GROUPS"), page.size()));
  for (int k = 0; k < kCollectivesOverRanks; ++k) {
    const auto kind = static_cast<Collective>(k);
    if (!row_of(kind).between) continue;
    // .BR leader " (bcast, reduce)"
    const size_t line = between.find(".BR " + std::string(row_of(kind).between->name) + " \" (");
    ASSERT_NE(line, std::string::npos) << row_of(kind).between->name;
    std::string names = between.substr(line, between.find(')', line) - line) + ",";
    std::ranges::replace(names, '(', ' ');
    EXPECT_NE(names.find(" " + std::string(name_of(kind)) + ","), std::string::npos) << name_of(kind);
  }
}

// Each line of the plan is one of the page's, or begins one.
void expect_on_page(const std::string& page, std::string_view algorithm, const Shape& shape) {
  const auto row = std::ranges::find(algorithms(shape.kind), algorithm, &Algorithm::name);
  ASSERT_NE(row, algorithms(shape.kind).end());
  std::istringstream plan(to_string(row->build(shape)));
  for (std::string line; std::getline(plan, line);)
    EXPECT_TRUE(page.find("\n" + line + "\n") != std::string::npos ||
                page.find("\n" + line + "  ") != std::string::npos)
        << algorithm << ": " << line;
}

TEST(AlgorithmTable, ThePageOfTheDesignShowsPlansAsTheyAre) {
  std::ifstream file(TUTTI_SOURCE "/docs/design.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  Shape s = shape(Collective::allreduce, 6, 24);
  s.rank = 2;
  s.in_count = s.out_count = 3;
  expect_on_page(page, "recursive_doubling", s);
  s = shape(Collective::allreduce, 3, 8);
  s.rank = 1;
  s.in_count = s.out_count = 1;
  s.small_slot = 1024;
  expect_on_page(page, "shared", s);
}

}  // namespace
}  // namespace tutti::coll
