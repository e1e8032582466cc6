// SPDX-License-Identifier: BSD-3-Clause
// Which rank goes to which node, and to which of its cores: golden maps, and other machines' shapes
// in hwloc's synthetic notation.
#include "launcher/place/placement.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "launcher/place/topology.hpp"

namespace tutti::launcher {
namespace {

std::vector<int> all_nodes(size_t count) {
  std::vector<int> out(count);
  std::iota(out.begin(), out.end(), 0);
  return out;
}

// The node of each rank, one letter each: "aabb".
std::string map_of(const std::vector<AppShape>& apps, const std::vector<int>& slots, const char* map_by) {
  Result<MapPolicy> policy = parse_map_policy(map_by);
  if (!policy) return policy.error().message();
  Result<Placement> placement = place(apps, slots, *policy);
  if (!placement) return placement.error().message();
  std::string out;
  int last_app = 0;
  for (const RankPlace& place : placement->ranks) {
    if (place.app != last_app) out += ' ';
    last_app = place.app;
    out += static_cast<char>('a' + place.node);
  }
  return out + (placement->oversubscribed.empty() ? "" : "!");
}

TEST(Placement, GoldenMaps) {
  const struct {
    int ranks;  // 0: not given
    std::vector<int> slots;
    const char *map_by, *expected;
  } cases[] = {
      {0, {2}, "slot", "aa"},
      {0, {2, 3}, "slot", "aabbb"},
      {1, {2, 3}, "slot", "a"},
      {4, {2, 3}, "slot", "aabb"},
      {4, {2, 3}, "core", "aabb"},
      {4, {2, 3}, "socket", "aabb"},
      {4, {2, 3}, "node", "abab"},
      {5, {2, 3}, "node", "ababb"},
      {5, {1, 3, 1}, "node", "abcbb"},
      {6, {2, 2}, "slot", "aaaabb!"},
      {7, {2, 3}, "slot", "aaaabbb!"},
      {6, {1, 2}, "node", "ababbb!"},
      {8, {2}, "slot", "aaaaaaaa!"},
      {0, {4, 4}, "slot:pe=2", "aabb"},
      {3, {4, 4}, "slot:pe=4", "aab!"},
      {0, {8, 1, 1}, "ppr:2:node", "aabbcc!"},
      {3, {8, 8}, "ppr:2:node", "aab"},
      {4, {2, 2}, "slot:nooversubscribe", "aabb"},
      {5, {2, 2}, "slot:OVERSUBSCRIBE", "aaabb!"},
  };
  for (const auto& c : cases) {
    const std::optional<int> ranks = c.ranks ? std::optional(c.ranks) : std::nullopt;
    EXPECT_EQ(map_of({{ranks, all_nodes(c.slots.size())}}, c.slots, c.map_by), c.expected)
        << c.ranks << " ranks by " << c.map_by;
  }
}

TEST(Placement, ProgramsFollowEachOtherAndKeepToTheirHosts) {
  EXPECT_EQ(map_of({{1, {0, 1}}, {3, {0, 1}}}, {2, 2}, "slot"), "a abb");
  EXPECT_EQ(map_of({{1, {1}}, {2, {0}}}, {2, 2}, "slot"), "b aa");
  EXPECT_EQ(map_of({{2, {0, 1}}, {2, {0, 1}}}, {2, 2}, "node"), "ab ab");
}

TEST(Placement, LocalRanksCountAcrossPrograms) {
  Result<Placement> placement = place({{2, {0}}, {2, {0, 1}}}, {3, 3}, MapPolicy{});
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->ranks, (std::vector<RankPlace>{{0, 0, 0}, {0, 0, 1}, {0, 1, 2}, {1, 1, 0}}));
}

TEST(Placement, NoNodeTakesMoreThanItsMost) {
  constexpr int none = std::numeric_limits<int>::max();
  const auto nodes = [](std::optional<int> ranks, const char* map_by, const std::vector<int>& most) {
    Result<Placement> placement = place({{ranks, {0, 1}}}, {2, 2}, *parse_map_policy(map_by), most);
    if (!placement) return placement.error().message();
    std::string out;
    for (const RankPlace& place : placement->ranks) out += static_cast<char>('a' + place.node);
    return out;
  };
  EXPECT_EQ(nodes(6, "slot", {3, none}), "aaabbb");
  EXPECT_EQ(nodes(9, "slot", {3, none}), "aaabbbbbb");
  EXPECT_EQ(nodes(6, "node", {2, none}), "ababbb");
  EXPECT_EQ(nodes({}, "slot", {1, none}), "abb");
  EXPECT_EQ(nodes(2, "slot:pe=2", {2, 2}), "ab");
  for (const char* map_by : {"slot", "node", "socket"})
    EXPECT_EQ(nodes(6, map_by, {2, 3}),
              "6 ranks are asked for, and the nodes take 5 at most, by the max_slots of the "
              "hostfile; use fewer ranks or more nodes");
  EXPECT_EQ(nodes({}, "ppr:2:node", {2, 1}).substr(0, 22), "4 ranks are asked for,");
  EXPECT_EQ(nodes(3, "slot:pe=2", {2, 2}).substr(0, 22), "3 ranks are asked for,");
  EXPECT_EQ(nodes(1'000'000, "slot", {none, none}).size(), 1'000'000U);
}

TEST(Placement, RefusalsSayWhatDoesNotFit) {
  EXPECT_EQ(map_of({{9, {0, 1}}}, {4, 4}, "ppr:2:node"),
            "9 ranks do not fit on 2 nodes with --map-by ppr:2:node; at most 4 do");
  EXPECT_EQ(map_of({{3, {0}}}, {2}, "slot:nooversubscribe"),
            "3 ranks are asked for on a node with 2 slots, and --map-by says nooversubscribe; use "
            "fewer ranks or more nodes");
  for (const char* wrong : {"cors", "ppr:0:node", "ppr:2", "ppr:2:slot", "ppr:1:gpu", "slot:pe=0", "slot:x", "node:"})
    EXPECT_NE(map_of({{1, {0}}}, {1}, wrong).find("is not one of slot, core"), std::string::npos) << wrong;
  EXPECT_NE(map_of({{1, {0}}}, {1}, "dist").find("name the device"), std::string::npos);
  EXPECT_NE(map_of({{1, {0}}}, {1}, "seq").find("names the places of 0"), std::string::npos);
  EXPECT_NE(map_of({{{}, {0}}}, {1}, "rankfile").find("names none"), std::string::npos);
}

// Of nodes with two sockets of four cores, and one with a single socket.
std::string by_parts(std::optional<int> ranks, const char* map_by, const char* rank_by = "") {
  Result<MapPolicy> policy = parse_map_policy(map_by);
  if (!policy) return policy.error().message();
  if (*rank_by)
    if (Error e = take_rank_by(rank_by, *policy)) return e.message();
  const NodeShape two{.cores = 8, .threads = 16, .sockets = 2, .numas = 2, .l3caches = 4};
  const NodeShape one{.cores = 4, .threads = 4};
  Result<Placement> placement = place({{ranks, {0, 1, 2}}}, {8, 8, 4}, *policy, {}, {two, two, one});
  if (!placement) return placement.error().message();
  std::string out;
  for (const RankPlace& place : placement->ranks) out += static_cast<char>('a' + place.node);
  return out;
}

TEST(Placement, SoManyOnEachPart) {
  EXPECT_EQ(by_parts({}, "ppr:2:socket"), "aaaabbbbcc");
  EXPECT_EQ(by_parts(5, "ppr:2:socket"), "aaaab");
  EXPECT_EQ(by_parts({}, "ppr:1:l3cache"), "aaaabbbbc");
  EXPECT_EQ(by_parts({}, "ppr:1:numa"), "aabbc");
  EXPECT_EQ(by_parts({}, "ppr:1:core").size(), 20U);
  EXPECT_EQ(by_parts({}, "ppr:1:hwthread").size(), 36U);
  EXPECT_EQ(by_parts({}, "ppr:3:board"), "aaabbbccc");
  EXPECT_EQ(by_parts(11, "ppr:2:socket"), "11 ranks do not fit on 3 nodes with --map-by ppr:2:socket; at most 10 do");
}

TEST(Placement, RanksAreNumberedAsRankByTells) {
  EXPECT_EQ(by_parts(6, "node"), "abcabc");
  EXPECT_EQ(by_parts(6, "node", "slot"), "aabbcc");
  EXPECT_EQ(by_parts(6, "node", "fill"), "aabbcc");
  EXPECT_EQ(by_parts(10, "slot", "node"), "ababaaaaaa");
  EXPECT_EQ(by_parts(6, "ppr:2:node", "node"), "abcabc");
  EXPECT_EQ(by_parts({}, "ppr:2:socket", "span"), "aabbcaabbc");
  EXPECT_EQ(by_parts(6, "slot", "socket"), "aaaaaa");
  EXPECT_NE(by_parts(6, "slot", "sloot").find("--rank-by takes slot, node"), std::string::npos);
  EXPECT_NE(by_parts(6, "slot", "socket:x").find("'x' is not span or fill"), std::string::npos);
}

TEST(Placement, Sequences) {
  const MapPolicy seq = *parse_map_policy("seq");
  AppShape app{{}, {0, 1}};
  app.sequence = {1, 0, 1, 1};
  Result<Placement> placement = place({app}, {2, 2}, seq);
  ASSERT_TRUE(placement) << placement.error().message();
  EXPECT_EQ(placement->ranks, (std::vector<RankPlace>{{1, 0, 0}, {0, 0, 0}, {1, 0, 1}, {1, 0, 2}}));
  EXPECT_EQ(placement->oversubscribed, std::vector<int>{1});
  app.ranks = 2;
  EXPECT_EQ(place({app}, {2, 2}, seq)->ranks.size(), 2U);
  app.ranks = 5;
  EXPECT_FALSE(place({app}, {2, 2}, seq));
}

std::string bound(const Topology& topology, int ranks, const char* bind_to, const char* map_by,
                  const char* rank_by = "", const std::vector<int>& taken = {}) {
  MapPolicy policy = *parse_map_policy(map_by);
  if (*rank_by) {
    EXPECT_FALSE(take_rank_by(rank_by, policy));
  }
  const Topology::Binding binding = topology.bind(ranks, *parse_bind_to(bind_to), policy, taken);
  std::string out;
  for (const std::vector<int>& processors : binding.processors)
    out += fmt::format("{}{}", out.empty() ? "" : " ", fmt::join(processors, ","));
  return binding.to == BindTo::none ? "none" : out;
}

Topology machine(const char* description) {
  Result<Topology> topology = Topology::synthetic(description);
  EXPECT_TRUE(topology) << description;
  return std::move(*topology);
}

TEST(Binding, GoldenMaps) {
  // Two sockets with two cores of two threads each: processors 0…7.
  const Topology two = machine("package:2 core:2 pu:2");
  EXPECT_EQ(two.allowed_cores(), 4);
  EXPECT_EQ(two.allowed_threads(), 8);
  EXPECT_EQ(bound(two, 4, "auto", "slot"), "0,1 2,3 4,5 6,7");
  EXPECT_EQ(bound(two, 2, "auto", "slot"), "0,1 2,3");
  EXPECT_EQ(bound(two, 2, "auto", "socket"), "0,1 4,5");
  EXPECT_EQ(bound(two, 4, "core", "socket"), "0,1 4,5 2,3 6,7");
  EXPECT_EQ(bound(two, 5, "auto", "slot"), "none");
  EXPECT_EQ(bound(two, 5, "core", "slot"), "0,1 2,3 4,5 6,7 0,1");
  EXPECT_EQ(bound(two, 3, "hwthread", "slot"), "0 1 2");
  EXPECT_EQ(bound(two, 2, "socket", "slot"), "0,1,2,3 4,5,6,7");
  EXPECT_EQ(bound(two, 2, "auto", "slot:pe=2"), "0,1,2,3 4,5,6,7");
  EXPECT_EQ(bound(two, 3, "auto", "slot:pe=2"), "none");
  EXPECT_EQ(bound(two, 2, "none", "slot"), "none");
  const Topology numa = machine("package:1 numa:2 core:2 pu:1");
  EXPECT_EQ(bound(numa, 2, "core", "numa"), "0 2");
  EXPECT_EQ(bound(numa, 2, "numa", "slot"), "0,1 2,3");
}

TEST(Binding, TellsThePlaceOfEachRank) {
  const Topology two = machine("package:2 numa:1 l3:2 l2:2 core:1 pu:2");  // processors 0 to 15
  EXPECT_EQ(two.place_of({0, 1}), "0.0.0.0");
  EXPECT_EQ(two.place_of({2}), "0.0.0.1");
  EXPECT_EQ(two.place_of({4}), "0.0.1.2");
  EXPECT_EQ(two.place_of({0, 1, 2, 3}), "0.0.0.-");
  EXPECT_EQ(two.place_of({15}), "1.1.3.7");
  EXPECT_EQ(two.place_of({0, 15}), "-.-.-.-");
  EXPECT_EQ(two.place_of({}), "-.-.-.-");
  EXPECT_EQ(machine("package:1 core:2 pu:1").place_of({1}), "0.0.-.-");  // caches that are not there
}

TEST(Binding, KeepsToWhatIsAllowed) {
  Topology part = machine("package:2 core:2 pu:2");
  part.restrict_to({1, 4, 5, 7});
  EXPECT_EQ(part.allowed_cores(), 3);
  EXPECT_EQ(bound(part, 3, "auto", "slot"), "1 4,5 7");
  EXPECT_EQ(bound(part, 2, "socket", "slot"), "1 4,5,7");
  EXPECT_EQ(bound(part, 4, "auto", "slot"), "none");
  part.limit_cores(2);
  EXPECT_EQ(bound(part, 3, "auto", "slot"), "none");
  EXPECT_EQ(bound(part, 2, "auto", "slot"), "1 4,5");
}

TEST(Binding, SoManyOnEachPart) {
  const Topology two = machine("package:2 core:4 pu:2");
  EXPECT_EQ(bound(two, 4, "auto", "ppr:2:socket"), "0,1 2,3 8,9 10,11");
  EXPECT_EQ(bound(two, 4, "auto", "ppr:2:socket:pe=2"), "0,1,2,3 4,5,6,7 8,9,10,11 12,13,14,15");
  EXPECT_EQ(bound(two, 3, "socket", "ppr:2:socket"), "0,1,2,3,4,5,6,7 0,1,2,3,4,5,6,7 8,9,10,11,12,13,14,15");
  EXPECT_EQ(bound(two, 2, "hwthread", "ppr:1:core"), "0 2");
  EXPECT_EQ(bound(two, 5, "socket", "ppr:1:core").substr(0, 15), "0,1,2,3,4,5,6,7");
  EXPECT_TRUE(bound(two, 5, "socket", "ppr:1:core").ends_with(" 8,9,10,11,12,13,14,15"));
}

TEST(Binding, RanksAreNumberedAsRankByTells) {
  const Topology two = machine("package:2 core:2 pu:1");
  EXPECT_EQ(bound(two, 4, "core", "socket"), "0 2 1 3");
  EXPECT_EQ(bound(two, 4, "core", "socket", "fill"), "0 1 2 3");
  EXPECT_EQ(bound(two, 4, "core", "slot", "socket"), "0 2 1 3");
  EXPECT_EQ(bound(two, 4, "core", "slot", "slot"), "0 1 2 3");
  EXPECT_EQ(bound(two, 4, "core", "ppr:2:socket", "span"), "0 2 1 3");
}

TEST(Binding, OtherJobsKeepTheirCores) {
  const Topology two = machine("package:2 core:2 pu:2");
  EXPECT_EQ(bound(two, 2, "auto", "slot", "", {0, 1}), "2,3 4,5");
  EXPECT_EQ(bound(two, 2, "auto", "slot", "", {3}), "0,1 4,5");  // half a core is a core
  EXPECT_EQ(bound(two, 2, "auto", "socket", "", {0, 1}), "4,5 2,3");
  EXPECT_EQ(bound(two, 2, "auto", "slot", "", {0, 2, 4}), "none");
  EXPECT_TRUE(two.bind(2, BindTo::automatic, {}, {0, 2, 4}).crowded);
  EXPECT_EQ(bound(two, 2, "core", "slot", "", {0, 2, 4}), "0,1 2,3");  // so the user says
  EXPECT_EQ(bound(two, 2, "core", "slot", "", {0}), "2,3 4,5");
  EXPECT_EQ(bound(two, 1, "auto", "slot", "", {77}), "0,1");
}

TEST(Binding, ThreadsInPlaceOfCores) {
  const Topology two = machine("package:1 core:2 pu:2");
  EXPECT_EQ(bound(two, 4, "auto", "slot:hwtcpus"), "0 1 2 3");
  EXPECT_EQ(bound(two, 2, "auto", "slot:hwtcpus:pe=2"), "0,1 2,3");
  EXPECT_EQ(bound(two, 3, "auto", "slot"), "none");
}

TEST(Binding, CoresByTheWordsOfARankfile) {
  const Topology two = machine("package:2 core:4 pu:2");
  EXPECT_EQ(*two.cores_named("0"), (std::vector<int>{0, 1}));
  EXPECT_EQ(*two.cores_named("1:0-1"), (std::vector<int>{8, 9, 10, 11}));
  EXPECT_EQ(*two.cores_named("0,4"), (std::vector<int>{0, 1, 8, 9}));
  EXPECT_EQ(two.cores_named("1:*")->size(), 8U);
  for (const char* wrong : {"8", "2:0", "1:4", "x", "", ":", "1:", "0:-", "-1", "0-"})
    EXPECT_FALSE(two.cores_named(wrong)) << wrong;
  Topology part = machine("package:2 core:4 pu:2");
  part.restrict_to({0, 1});
  EXPECT_FALSE(part.cores_named("1"));
  EXPECT_EQ(*processors_named("0,2-3"), (std::vector<int>{0, 2, 3}));
  for (const char* wrong : {"", "x", "1-", "0-99999999"}) EXPECT_FALSE(processors_named(wrong)) << wrong;
}

TEST(Binding, ThisMachineHasACore) {
  Result<Topology> here = Topology::of_this_machine();
  ASSERT_TRUE(here);
  EXPECT_GE(here->allowed_cores(), 1);
  EXPECT_GE(here->allowed_threads(), here->allowed_cores());
}

}  // namespace
}  // namespace tutti::launcher
