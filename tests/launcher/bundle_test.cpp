// SPDX-License-Identifier: BSD-3-Clause
// What makes messages few in a tree of daemons.
#include "launcher/daemons/bundle.hpp"

#include <gtest/gtest.h>

namespace tutti::launcher {
namespace {

TEST(Spans, ComeBackAsTheNodes) {
  for (const std::vector<int>& nodes : {std::vector<int>{5}, {1, 2, 3}, {1, 3, 4, 9}, {4, 3, 2}})
    EXPECT_EQ(nodes_in(spans_of(nodes)), nodes);
  EXPECT_EQ(spans_of({1, 2, 3, 7}).size(), 2u);
}

TEST(Spans, ThatNameNoNodesAreRefused) {
  for (const Span span : {Span{-1, 1}, Span{0, 0}, Span{0, -1}, Span{2147483647, 1}, Span{0, 2147483647}})
    EXPECT_EQ(nodes_in({span}), std::nullopt) << span.first << " " << span.count;
}

struct Sent {
  std::vector<int> nodes;
  Message type;
  std::string payload;
  bool operator==(const Sent&) const = default;
};

TEST(Bundle, WhatIsTheSameForManyTravelsOnceAndInOrder) {
  Loop loop;
  std::vector<Sent> sent;
  Bundle bundle(loop, [&](const std::vector<int>& nodes, Message type, const Parcel& payload) {
    sent.push_back({nodes, type, std::string(payload.view())});
  });
  for (int node = 1; node < 5; ++node) bundle.put(node, Message::launch, std::string("map"));
  for (int node = 1; node < 3; ++node) bundle.put(node, Message::finish, Parcel());
  bundle.put(3, Message::signal_ranks, Parcel());
  EXPECT_EQ(sent.size(), 2u);  // the last waits for more
  const Watch end = loop.after(std::chrono::milliseconds(20), [&loop] { loop.stop(); });
  loop.run();
  EXPECT_EQ(sent, (std::vector<Sent>{{{1, 2, 3, 4}, Message::launch, "map"},
                                     {{1, 2}, Message::finish, ""},
                                     {{3}, Message::signal_ranks, ""}}));
}

TEST(Bundle, WhatANodeIsToldTwiceItHearsTwice) {
  Loop loop;
  std::vector<Sent> sent;
  Bundle bundle(loop, [&](const std::vector<int>& nodes, Message type, const Parcel& payload) {
    sent.push_back({nodes, type, std::string(payload.view())});
  });
  for (int node : {1, 1, 2, 1, 2}) bundle.put(node, Message::output_taken, std::string("64k"));
  bundle.flush();
  EXPECT_EQ(sent, (std::vector<Sent>{{{1}, Message::output_taken, "64k"},
                                     {{1, 2}, Message::output_taken, "64k"},
                                     {{1, 2}, Message::output_taken, "64k"}}));
}

TEST(Gatherer, WaitsForAllMembersAndForNoOtherFence) {
  Gatherer fences;
  for (int node : {2, 3, 5}) fences.add_member(node);
  const auto words = [](const char* key, const char* data) {
    return wire::pack(std::string(key), std::string(data), Addresses{});
  };
  const char* const all = "tutti.job.key:4294967294 #0";
  EXPECT_TRUE(fences.keeps(Message::fence, words(all, "")));
  EXPECT_FALSE(fences.keeps(Message::event, words(all, "")));
  EXPECT_FALSE(fences.keeps(Message::fence, words("tutti.job.key:3 #0", "")));
  EXPECT_FALSE(fences.keeps(Message::fence, words("tutti.job.key:1 tutti.job.key:4294967294 #0", "")));
  EXPECT_FALSE(fences.keeps(Message::fence, "x"));
  EXPECT_FALSE(fences.add(2, words(all, "a")));
  EXPECT_FALSE(fences.add(3, words("tutti.job.key:4294967294 #1", "z")));
  EXPECT_FALSE(fences.add(5, words(all, "b")));
  const auto last = fences.add(3, words(all, "c"));
  ASSERT_TRUE(last);
  EXPECT_EQ(last->nodes, (std::vector<int>{2, 5, 3}));
  EXPECT_EQ(last->key, all);
  EXPECT_EQ(last->data, "abc");
  EXPECT_EQ(last->addresses.key, "");
}

TEST(Gatherer, AddressesOfAllNodesComeWithTheirFence) {
  Gatherer gatherer;
  for (int node : {2, 3}) gatherer.add_member(node);
  const std::string key = "tutti.job.key:4294967294 #0", data = "";
  EXPECT_FALSE(gatherer.add(2, wire::pack(key, data, Addresses{"tutti.ucx.1", "a"})));
  const auto last = gatherer.add(3, wire::pack(key, data, Addresses{"tutti.ucx.1", "b"}));
  ASSERT_TRUE(last);
  EXPECT_EQ(last->nodes, (std::vector<int>{2, 3}));
  EXPECT_EQ(last->addresses.key, "tutti.ucx.1");
  EXPECT_EQ(last->addresses.packed, "ab");
}

}  // namespace
}  // namespace tutti::launcher
