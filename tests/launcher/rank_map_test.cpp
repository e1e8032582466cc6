// SPDX-License-Identifier: BSD-3-Clause
// The map of a job as ranges, and how few bytes it and the launch message of a large job take.
#include "launcher/data/rank_map.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "launcher/data/compact.hpp"
#include "launcher/data/compact_ranges.hpp"
#include "launcher/data/wire.hpp"

namespace tutti::launcher {
namespace {

std::vector<RankPlace> places_of(const RankMap& map) {
  return {map.begin(), map.end()};
}

// What the map says of every rank and node is what the places say.
void expect_same(const std::vector<RankPlace>& places, size_t nodes) {
  const RankMap map(places);
  ASSERT_EQ(map.size(), places.size());
  ASSERT_EQ(places_of(map), places);
  ASSERT_TRUE(map.is_consistent(nodes, 8));
  std::vector<std::vector<int>> on(nodes);
  for (size_t r = 0; r < places.size(); ++r) {
    ASSERT_EQ(map[r], places[r]) << r;
    on[static_cast<size_t>(places[r].node)].push_back(static_cast<int>(r));
  }
  const std::vector<int> counts = map.counts(nodes);
  for (size_t n = 0; n < nodes; ++n) {
    EXPECT_EQ(map.on(static_cast<int>(n)), on[n]);
    EXPECT_EQ(map.count_on(static_cast<int>(n)), static_cast<int>(on[n].size()));
    EXPECT_EQ(counts[n], static_cast<int>(on[n].size()));
  }
  std::vector<int> reversed(nodes);
  for (size_t n = 0; n < nodes; ++n) reversed[n] = static_cast<int>(nodes - 1 - n);
  std::vector<RankPlace> moved = places;
  for (RankPlace& place : moved) place.node = reversed[static_cast<size_t>(place.node)];
  EXPECT_EQ(places_of(map.renumbered(reversed)), moved);
}

TEST(RankMap, SaysWhatThePlacesSay) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const size_t nodes = 1 + random() % 6;
    std::vector<int> taken(nodes, 0);
    std::vector<RankPlace> places;
    int app = 0, node = 0;
    for (size_t r = random() % 40; r > 0; --r) {
      if (random() % 7 == 0) app = static_cast<int>(random() % 8);
      if (random() % 3 == 0) node = static_cast<int>(random() % nodes);
      places.push_back({node, app, taken[static_cast<size_t>(node)]++});
    }
    expect_same(places, nodes);
  }
}

TEST(RankMap, MapsBySlotAndByNodeAreFewRanges) {
  std::vector<RankPlace> by_slot, by_node;
  for (int node = 0; node < 100; ++node)
    for (int local = 0; local < 16; ++local) by_slot.push_back({node, 0, local});
  for (int local = 0; local < 16; ++local)
    for (int node = 0; node < 100; ++node) by_node.push_back({node, 0, local});
  EXPECT_EQ(RankMap(by_slot).ranges().size(), 1u);
  EXPECT_EQ(RankMap(by_node).ranges().size(), 16u);
}

TEST(RankMap, RangesThatDoNotHoldTogetherAreNoticed) {
  const RankRange good{.first = 0, .first_node = 0, .nodes = 2, .each = 3};
  for (int field = 0; field < 9; ++field) {
    RankMap map;
    RankRange bad = good;
    if (field == 1) bad.first = 1;
    if (field == 2) bad.first_node = -1;
    if (field == 3) bad.first_node = 1;
    if (field == 4) bad.nodes = 0;
    if (field == 5) bad.each = -3;
    if (field == 6) bad.app = 1;
    if (field == 7) bad.first_local = 4;
    if (field == 8) bad.each = 2000000000;
    map.raw_ranges() = {bad};
    EXPECT_EQ(map.is_consistent(2, 1), field == 0) << field;
  }
}

TEST(Compact, NamesComeBackAsTheyWere) {
  const std::vector<std::vector<std::string>> lists = {
      {},
      {"a"},
      {"n1", "n2", "n3"},
      {"n9", "n10", "n11", "n13"},
      {"n09", "n10", "n011", "n012"},
      {"node008.c1.org", "node009.c1.org", "node010.c1.org", "node011.c2.org"},
      {"1", "2", "3"},
      {"r1-n1", "r1-n2", "r2-n1", "r2-n2"},
      {"gpu-a", "gpu-b", "99999999999999999999", "10.0.0.1", "10.0.0.2"},
      {"n999999999", "n1000000000"},
  };
  for (const std::vector<std::string>& names : lists) {
    ASSERT_TRUE(has_plain_names(names));
    EXPECT_EQ(expand_names(compact_names(names)), names) << compact_names(names);
  }
  EXPECT_EQ(compact_names({"n9", "n10", "n11", "login"}), "n[9-11],login");
  EXPECT_EQ(compact_names({"r1-n1", "r1-n2", "r2-n1", "r2-n2"}), "r[1-2]-n[1-2]");
  EXPECT_EQ(compact_names({"r1-n1", "r1-n2", "r2-n1", "r3-n1"}), "r1-n[1-2],r[2-3]-n1");
  EXPECT_FALSE(has_plain_names({"a,b"}));
}

// As machines name them by cabinet, chassis, slot, board and node.
std::vector<std::string> names_of_cabinets(int cabinets) {
  std::vector<std::string> out;
  for (int n = 0; n < cabinets * 256; ++n)
    out.push_back(fmt::format("x{}c{}s{}b{}n{}", 1000 + n / 256, n / 32 % 8, n / 4 % 8, n / 2 % 2, n % 2));
  return out;
}

TEST(Compact, NamesOfSeveralNumbersAreRanges) {
  std::vector<std::string> names = names_of_cabinets(31);
  EXPECT_EQ(compact_names(names), "x[1000-1030]c[0-7]s[0-7]b[0-1]n[0-1]");
  EXPECT_EQ(expand_names(compact_names(names)), names);
  // Some are not used.
  std::mt19937 random(1);
  std::erase_if(names, [&](const std::string&) { return random() % 100 == 0; });
  EXPECT_EQ(expand_names(compact_names(names)), names);
  EXPECT_LT(compact_names(names).size(), 10000u);
  std::ranges::shuffle(names, random);
  EXPECT_EQ(expand_names(compact_names(names)), names);
  std::vector<std::string> addresses;
  for (int i = 0; i < 1000; ++i) addresses.push_back(fmt::format("ip-10-0-{}-{:03}.ec2.internal", i / 256, i % 256));
  EXPECT_EQ(compact_names(addresses), "ip-10-0-[0-2]-[000-255].ec2.internal,ip-10-0-3-[000-231].ec2.internal");
  EXPECT_EQ(expand_names(compact_names(addresses)), addresses);
}

TEST(Compact, TextsThatAreNoNamesAreRefused) {
  for (const char* text : {",", "a,,b", "n[1-", "n[2-1]", "n[1]", "n[-]", "n[x-2]", "n[0-999999999]", "n]1-2[",
                           "n[0-1023]m[0-1024]", "a[1-1][1-1][1-1][1-1][1-1][1-1][1-1][1-1][1-1]"})
    EXPECT_EQ(expand_names(text), std::nullopt) << text;
  EXPECT_EQ(expand_numbers({{uint64_t{1} << 60, 1}}), std::nullopt);
}

TEST(CompactRanges, ComeBackAsTheyWere) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<RankPlace> places;
    std::vector<int> local(10, 0);
    while (places.size() < 300) {
      const int node = static_cast<int>(random() % 10), app = static_cast<int>(random() % 3);
      for (unsigned i = random() % 4; i > 0; --i) {
        const bool odd = trial % 2 == 1 && random() % 10 == 0;  // a number that is not the next
        places.push_back({node, app, odd ? static_cast<int>(random() % 100) : local[static_cast<size_t>(node)]++});
      }
    }
    const RankMap map(places);
    EXPECT_EQ(expand_ranges(compact_ranges(map.ranges())), map.ranges());
  }
  EXPECT_EQ(expand_ranges(""), std::vector<RankRange>());
}

TEST(CompactRanges, ThatMakeNoSenseAreRefused) {
  for (const std::string& text :
       {std::string("\x80"), std::string("\xff\xff\xff\xff\xff\xff\x01"), std::string("\x01"), std::string("\x01\x10"),
        std::string("\x01\x01"), std::string("\x01\x03\xff\xff\x3f\xff\xff\x3f"),
        std::string("\x01\x01\xff\xff\xff\x7f")})
    EXPECT_EQ(expand_ranges(text), std::nullopt) << text.size();
}

TEST(RanksByNode, AreThoseOfTheMap) {
  std::mt19937 random(1);
  std::vector<RankPlace> places;
  for (int r = 0; r < 500; ++r) places.push_back({static_cast<int>(random() % 9), 0, r});
  const RankMap map(places);
  const RanksByNode ranks(map, 12);
  for (int node = 0; node < 12; ++node) {
    const auto on = ranks.on(node);
    EXPECT_EQ(std::vector<int>(on.begin(), on.end()), map.on(node));
  }
  EXPECT_TRUE(ranks.on(12).empty());
  EXPECT_TRUE(RanksByNode().on(0).empty());
}

NodeTask large(int nodes, int each, bool by_node) {
  NodeTask task;
  task.map.id = "abc";
  task.map.apps = {{{"a.out"}, "/home", {}}};
  std::vector<RankPlace> places;
  for (int n = 0; n < nodes; ++n) task.map.nodes.push_back(fmt::format("node{:05}.cluster", n + 1));
  for (int r = 0; r < nodes * each; ++r)
    places.push_back(by_node ? RankPlace{r % nodes, 0, r / nodes} : RankPlace{r / each, 0, r % each});
  task.map.slots.assign(static_cast<size_t>(nodes), each);
  task.map.rank_cores.assign(static_cast<size_t>(nodes), 0);
  task.map.ranks = places;
  task.allocation = task.map.nodes;
  task.allocation_slots = task.map.slots;
  for (int i = 0; i < 100; ++i) task.environment.push_back(fmt::format("VARIABLE_{}={:0100}", i, i));
  return task;
}

TEST(Wire, TheLaunchMessageOfAMillionRanksIsShort) {
  for (const bool by_node : {false, true}) {
    const NodeTask sent = large(7813, 128, by_node);
    const std::string bytes = wire::pack(sent);
    EXPECT_LT(bytes.size(), 100000u) << by_node;
    NodeTask got;
    ASSERT_TRUE(wire::unpack(bytes, got));
    EXPECT_TRUE(is_consistent(got));
    EXPECT_EQ(got.map.ranks, sent.map.ranks);
    EXPECT_EQ(got.map.nodes, sent.map.nodes);
    EXPECT_EQ(got.allocation_slots, sent.allocation_slots);
  }
}

TEST(Wire, APlaceAtRandomTakesFourBytesAtMost) {
  NodeTask sent = large(7813, 128, false);
  const size_t regular = wire::pack(sent).size();
  std::vector<int> nodes;
  for (const RankPlace place : sent.map.ranks) nodes.push_back(place.node);
  std::ranges::shuffle(nodes, std::mt19937(1));
  std::vector<int> local(7813, 0);
  std::vector<RankPlace> places;
  for (const int node : nodes) places.push_back({node, 0, local[static_cast<size_t>(node)]++});
  sent.map.ranks = places;
  const std::string bytes = wire::pack(sent);
  EXPECT_LT(bytes.size(), regular + 4 * places.size());
  NodeTask got;
  ASSERT_TRUE(wire::unpack(bytes, got));
  EXPECT_TRUE(is_consistent(got));
  EXPECT_EQ(got.map.ranks, sent.map.ranks);
}

}  // namespace
}  // namespace tutti::launcher
