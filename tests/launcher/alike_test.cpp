// SPDX-License-Identifier: BSD-3-Clause
// What many ranks or nodes say alike goes up together, in order, and nothing of it is lost; and what ranks are doing, in groups.
#include <gtest/gtest.h>
#include <signal.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "launcher/daemons/chorus.hpp"
#include "launcher/daemons/rank_ends.hpp"
#include "launcher/daemons/remote_node.hpp"
#include "launcher/daemons/upward.hpp"
#include "launcher/data/rank_groups.hpp"
#include "launcher/data/wire.hpp"

namespace tutti::launcher {
namespace {

constexpr Span kAll{0, 8};

RankEnd well(int rank) {
  return {.rank = rank, .pid = 100 + rank, .connected = true, .finalized = true, .cause = {}};
}
RankEnd killed(int rank, int signal) {
  return {.rank = rank, .pid = 100 + rank, .wait_status = signal, .connected = true, .cause = {}};
}

struct Ends {
  explicit Ends(bool each_failure = false)
      : ends(loop, each_failure,
             {.say = [this](const RankEnd& end) { said.push_back({end, {{end.rank, 1}}}); },
              .say_together =
                  [this](const std::vector<EndsAlike>& groups) {
                    said.insert(said.end(), groups.begin(), groups.end());
                    ++times;
                  }}) {
    ends.begin({0, 1, 2, 3, 4, 5, 6, 7});
  }
  // Of all that is said of them: as the launcher hears it.
  size_t count() const {
    size_t sum = 0;
    for (const EndsAlike& each : said) sum += count_of(each.ranks);
    return sum;
  }
  Loop loop;
  std::vector<EndsAlike> said;
  int times = 0;
  RankEnds ends;
};

TEST(RankEnds, ThatAreWellAreOneWord) {
  Ends test;
  for (const int rank : {3, 0, 1, 2, 7, 6, 5}) test.ends.put(well(rank));
  EXPECT_TRUE(test.said.empty());
  test.ends.put(well(4));
  ASSERT_EQ(test.said.size(), 1u);
  EXPECT_EQ(test.said[0].ranks, std::vector<Span>{kAll});
  EXPECT_EQ(test.said[0].how.pid, kUntold);  // so that those of other nodes are the same
  EXPECT_TRUE(test.said[0].how.finalized);
}

TEST(RankEnds, WaitForOthersForAMoment) {
  Ends test;
  for (const int rank : {1, 2, 5}) test.ends.put(well(rank));
  const Watch end = test.loop.after(std::chrono::seconds(2), [&] { test.loop.stop(); });
  const Watch look = test.loop.every(std::chrono::milliseconds(5), [&] {
    if (test.times > 0) test.loop.stop();
  });
  test.loop.run();
  ASSERT_EQ(test.said.size(), 1u);
  EXPECT_EQ(test.said[0].ranks, (std::vector<Span>{{1, 2}, {5, 1}}));
}

TEST(RankEnds, TheFirstFailureOfAKindIsSaidAtOnceBehindWhatWasBefore) {
  Ends test;
  test.ends.put(well(0));
  test.ends.put(killed(1, SIGSEGV));
  ASSERT_EQ(test.said.size(), 2u);
  EXPECT_EQ(test.said[0].ranks, std::vector<Span>({{0, 1}}));
  EXPECT_EQ(test.said[1].how.pid, 101);
  test.ends.put(killed(2, SIGSEGV));
  EXPECT_EQ(test.said.size(), 2u);
  test.ends.put(killed(3, SIGABRT));
  ASSERT_EQ(test.said.size(), 4u);
  EXPECT_EQ(test.said[2].how.pid, kUntold);
  EXPECT_EQ(test.said[3].how.pid, 103);
}

TEST(RankEnds, EachFailureIsSaidWhereTheJobGoesOn) {
  Ends test(true);
  for (int rank = 0; rank < 8; ++rank) test.ends.put(killed(rank, SIGKILL));
  ASSERT_EQ(test.said.size(), 8u);
  for (int rank = 0; rank < 8; ++rank) EXPECT_EQ(test.said[static_cast<size_t>(rank)].how.pid, 100 + rank);
}

TEST(RankEnds, OfRanksThatAreToldToEndAreNoFailures) {
  Ends test;
  test.ends.are_told_to_end();
  for (int rank = 0; rank < 8; ++rank) test.ends.put(killed(rank, SIGTERM));
  ASSERT_EQ(test.said.size(), 1u);
  EXPECT_EQ(test.said[0].ranks, std::vector<Span>{kAll});
}

// Others may wait for it in MPI_Init: then the launcher says which process it was.
TEST(RankEnds, OfOnesThatHaveNeverCalledMpiNameTheFirstProcess) {
  Ends test;
  for (const int rank : {5, 2, 4, 7, 0, 1, 3, 6}) test.ends.put({.rank = rank, .pid = 100 + rank, .cause = {}});
  ASSERT_EQ(test.said.size(), 1u);
  EXPECT_EQ(test.said[0].how.pid, 100);
}

TEST(RankEnds, OfOnesThatWereNeverStartedSaySo) {
  Ends test;
  for (int rank = 0; rank < 8; ++rank) test.ends.put({.rank = rank, .cause = {}});
  ASSERT_EQ(test.said.size(), 1u);
  EXPECT_EQ(test.said[0].how.pid, 0);
}

TEST(RankEnds, AreEachSaidOnceWhateverTheyAre) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 200; ++trial) {
    Ends test(trial % 2 == 0);
    std::vector<int> order{0, 1, 2, 3, 4, 5, 6, 7};
    std::ranges::shuffle(order, random);
    for (const int rank : order) {
      RankEnd end{.rank = rank, .pid = static_cast<int>(random() % 2) * 5, .cause = random() % 3 ? "" : "memory"};
      end.wait_status = random() % 2 ? 0 : 9;
      end.connected = random() % 2;
      test.ends.put(end);
      if (random() % 4 == 0) test.ends.flush();
    }
    EXPECT_EQ(test.count(), 8u);
  }
}

// The launcher's side.
class EndsAtLauncher : public testing::Test {
 protected:
  struct Heard final : NodeEvents {
    void launched(int) override {}
    void launch_failed(int, int, const std::string&) override {}
    void rank_ended(int, const RankEnd& end) override { ends.push_back(end); }
    void rank_crashed(int, int, const std::string&) override {}
    void rank_waits(int, int) override {}
    void rank_aborted(int, int, int, const std::string&) override {}
    void output(int, int, OutputStream, std::string) override {}
    void note(int, const std::string&) override {}
    void remark(int, Level, const std::string&) override {}
    void input_wanted(int) override {}
    void fence(int, const std::string&, const std::string&, const Addresses&) override {}
    void modex_wanted(int, uint64_t, int) override {}
    void modex_found(int, uint64_t, int, const std::string&) override {}
    void addresses_wanted(int, const std::string&) override {}
    void event(int, const std::string&) override {}
    void asked(int, uint64_t, const Ask&) override {}
    void looked(int, uint64_t, std::vector<RankView>) override {}
    void grouped(int, uint64_t, std::vector<RankGroup>) override {}
    void answered(int) override {}
    void profiled(int, std::vector<RankProfile>) override {}
    void finished(int) override {}
    std::vector<RankEnd> ends;
  };
  void SetUp() override {
    NodeTask task;
    task.map.nodes = {"a"};
    task.map.apps = {{{"./a.out"}, "/", "", {}}};
    node_.launch(Common<NodeTask>(task), 0, std::vector<int>{10, 20, 30});
  }
  Error hear(const std::vector<EndsAlike>& ends) {
    return node_.hear(Message::ranks_ended, wire::pack(ends), heard_, 0);
  }
  Heard heard_;
  RemoteNode node_{[](Message, const Parcel&) {}};
};

TEST_F(EndsAtLauncher, AreThoseOfItsRanks) {
  EXPECT_FALSE(hear({{.how = {.pid = 7, .cause = {}}, .ranks = {{0, 1}, {2, 1}}}}));
  ASSERT_EQ(heard_.ends.size(), 2u);
  EXPECT_EQ(heard_.ends[0].rank, 10);
  EXPECT_EQ(heard_.ends[0].pid, 7);
  EXPECT_EQ(heard_.ends[1].rank, 30);
  EXPECT_EQ(heard_.ends[1].pid, kUntold);
  EXPECT_TRUE(hear({{.how = well(0), .ranks = {{2, 1}}}}));  // it has ended
}

TEST_F(EndsAtLauncher, ThatMakeNoSenseAreRefused) {
  for (const Span span : {Span{0, 4}, Span{3, 1}, Span{-1, 1}, Span{0, 0}, Span{0, -1}, Span{1, 2147483647}}) {
    EXPECT_TRUE(hear({{.how = well(0), .ranks = {span}}})) << span.first << " " << span.count;
    EXPECT_TRUE(heard_.ends.empty());
  }
  EXPECT_TRUE(node_.hear(Message::ranks_ended, "x", heard_, 0));
}

struct Sent {
  std::vector<int> nodes;
  Message type;
  std::string payload;
  bool operator==(const Sent&) const = default;
};

struct Choir {
  Choir()
      : chorus(loop, [this](const std::vector<int>& nodes, Message type, const Parcel& payload) {
          sent.push_back({nodes, type, std::string(payload.view())});
        }) {
    for (const int node : {1, 2, 3}) chorus.add_member(node);
  }
  Loop loop;
  std::vector<Sent> sent;
  Chorus chorus;
};

TEST(Chorus, WhatAllHaveSaidGoesOnce) {
  Choir choir;
  for (const int node : {3, 1}) choir.chorus.put(node, Message::launched, {});
  EXPECT_TRUE(choir.sent.empty());
  choir.chorus.put(2, Message::launched, {});
  EXPECT_EQ(choir.sent, (std::vector<Sent>{{{1, 2, 3}, Message::launched, ""}}));
}

TEST(Chorus, AnotherWordOfANodeComesBehindThem) {
  Choir choir;
  choir.chorus.put(1, Message::launched, {});
  choir.chorus.put(1, Message::ranks_ended, std::string("all"));
  // It has not launched yet, and joins neither word too early.
  choir.chorus.put(2, Message::launched, {});
  choir.chorus.put(2, Message::ranks_ended, std::string("all"));
  choir.chorus.before_other(3);
  EXPECT_TRUE(choir.sent.empty());
  choir.chorus.before_other(1);
  EXPECT_EQ(choir.sent, (std::vector<Sent>{{{1, 2}, Message::launched, ""}, {{1, 2}, Message::ranks_ended, "all"}}));
}

// The words behind one that all have said wait on.
TEST(Chorus, AWordThatAllHaveSaidTakesNoneBehindItAlong) {
  Choir choir;
  for (const int node : {1, 2}) choir.chorus.put(node, Message::launched, {});
  choir.chorus.put(1, Message::finished, {});
  choir.chorus.put(3, Message::launched, {});
  EXPECT_EQ(choir.sent.size(), 1u);
  for (const int node : {2, 3}) choir.chorus.put(node, Message::finished, {});
  EXPECT_EQ(choir.sent, (std::vector<Sent>{{{1, 2, 3}, Message::launched, ""}, {{1, 2, 3}, Message::finished, ""}}));
}

// What each node has said comes in its order, as often as it was said.
TEST(Chorus, KeepsTheOrderOfEachNode) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 500; ++trial) {
    Choir choir;
    std::map<int, std::vector<std::string>> put, came;
    for (int i = 0; i < 40; ++i) {
      const int node = 1 + static_cast<int>(random() % 3);
      const std::string word(1, static_cast<char>('a' + random() % 3));
      choir.chorus.put(node, Message::ranks_ended, word);
      put[node].push_back(word);
      if (random() % 8 == 0) choir.chorus.before_other(1 + static_cast<int>(random() % 3));
    }
    choir.chorus.flush();
    for (const Sent& sent : choir.sent)
      for (const int node : sent.nodes) came[node].push_back(sent.payload);
    EXPECT_EQ(came, put);
  }
}

RankView view(int rank, const std::string& call, int64_t milliseconds) {
  RankView out;
  out.job = "j";
  out.rank = rank;
  out.size = 100;
  out.host = "n" + std::to_string(rank / 10);
  out.inside = true;
  out.call = call;
  out.milliseconds = milliseconds;
  out.waits_for = {rank + 1};
  out.waits_for_count = 1;
  if (rank % 7 == 0) out.file = "writing";
  return out;
}

// However ranks are divided among nodes, and in whichever order their groups are joined.
TEST(RankGroups, AreTheSameWhereverTheyAreJoined) {
  std::vector<RankView> ranks;
  for (int rank = 0; rank < 100; ++rank)
    ranks.push_back(view(rank, rank % 30 == 5 ? "MPI_Recv" : "MPI_Barrier", 1000 + rank));
  const std::vector<RankGroup> all = groups_of(ranks);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1].ranks, (std::vector<Span>{{5, 1}, {35, 1}, {65, 1}, {95, 1}}));
  EXPECT_EQ(all[1].waits_for, (std::vector<Span>{{6, 1}, {36, 1}, {66, 1}, {96, 1}}));
  EXPECT_EQ(all[0].least, 1000);
  EXPECT_EQ(all[0].most, 1099);
  EXPECT_EQ(all[0].files.size(), RankGroups::kMostFiles);
  const std::string bytes = wire::pack(all);
  std::mt19937 random(1);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<RankGroups> nodes(5);
    std::ranges::shuffle(ranks, random);
    for (const RankView& rank : ranks) nodes[random() % 5].add(rank);
    RankGroups joined;
    for (RankGroups& node : nodes) {
      std::vector<RankGroup> got;
      ASSERT_TRUE(wire::unpack(wire::pack(node.take()), got));
      ASSERT_TRUE(are_sound(got));
      for (RankGroup& group : got) joined.add(std::move(group));
    }
    EXPECT_EQ(wire::pack(joined.take()), bytes);
  }
}

TEST(RankGroups, ThatMakeNoSenseAreRefused) {
  const RankGroup good = groups_of({view(3, "MPI_Barrier", 1)})[0];
  EXPECT_TRUE(are_sound({good}));
  RankGroup bad = good;
  bad.ranks.clear();
  EXPECT_FALSE(are_sound({bad}));
  for (const std::vector<Span>& spans :
       {std::vector<Span>{{-1, 1}}, {{0, 0}}, {{0, 2}, {1, 1}}, {{5, 1}, {3, 1}}, {{1, 2147483647}}}) {
    bad = good;
    bad.waits_for = spans;
    EXPECT_FALSE(are_sound({good, bad}));
  }
  bad = good;
  bad.hosts = {"b", "a"};
  EXPECT_FALSE(are_sound({bad}));
}

// A daemon whose node has not answered yet waits, and answers to earlier questions are for mpirun to judge.
TEST(Upward, GroupsWaitForAllThatAreAsked) {
  Loop loop;
  std::vector<std::pair<Message, std::string>> sent;
  Upward upward(
      loop, 1,
      {.send = [&](Message type, std::string_view begin,
                   const Parcel& end) { sent.emplace_back(type, std::string(begin) + std::string(end.view())); },
       .traffic_below = [] { return std::string("traffic"); }});
  for (const int node : {1, 2, 3}) upward.takes_part(node);
  const std::string question = wire::pack(Question{.number = 5, .records_of = {}, .together = true});
  for (const int node : {1, 2, 3}) upward.is_asked(node, question);
  const auto answer = [](uint64_t number, int rank) {
    return wire::pack(number, groups_of({view(rank, "MPI_Barrier", 1)}));
  };
  upward.tell(2, Message::grouped, answer(5, 20));
  upward.tell(1, Message::grouped, answer(5, 10));
  upward.send_now();
  EXPECT_TRUE(sent.empty());
  upward.tell(3, Message::grouped, answer(5, 30));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].first, Message::gathered_groups);
  std::vector<Span> nodes;
  uint64_t number = 0;
  std::vector<RankGroup> groups;
  ASSERT_TRUE(wire::unpack(sent[0].second, nodes, number, groups));
  EXPECT_EQ(nodes, std::vector<Span>({{1, 3}}));
  EXPECT_EQ(number, 5u);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].ranks, (std::vector<Span>{{10, 1}, {20, 1}, {30, 1}}));
  for (const std::string& other : {answer(4, 1), answer(5, 1), std::string("x")}) {
    sent.clear();
    upward.tell(2, Message::grouped, other);
    upward.send_now();
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].first, Message::relayed);
  }
}

TEST(Spans, AreFewBytes) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 100; ++trial) {
    std::vector<Span> spans;
    int at = 0;
    for (int i = 0; i < 50; ++i) {
      const int first = at + (i > 0 ? 1 : 0) + static_cast<int>(random() % 50),
                count = 1 + static_cast<int>(random() % 3 == 0 ? random() % 1000 : 0);
      spans.push_back({first, count});
      at = first + count;
    }
    EXPECT_EQ(expand_spans(compact_spans(spans)), spans);
    EXPECT_LE(compact_spans(spans).size(), 50u * 3);
  }
  for (const std::string& text : {std::string("\x80"), std::string("\x01"), std::string("\x02\x00", 2),
                                  std::string("\xff\xff\xff\xff\x0f"), std::string("\x01\xff\xff\xff\xff\x0f")})
    EXPECT_EQ(expand_spans(text), std::nullopt) << text.size();
  EXPECT_EQ(expand_spans(""), std::vector<Span>());
}

TEST(Upward, CountsBeforeTheLastHasFinished) {
  Loop loop;
  std::vector<Message> sent;
  Upward upward(loop, 1,
                {.send = [&](Message type, std::string_view, const Parcel&) { sent.push_back(type); },
                 .traffic_below = [] { return std::string("traffic"); }});
  for (const int node : {1, 2}) upward.takes_part(node);
  upward.tell(2, Message::finished, {});
  upward.tell(1, Message::note, std::string("a note"));
  upward.tell(1, Message::finished, {});
  EXPECT_EQ(sent, (std::vector<Message>{Message::note, Message::counted, Message::relayed}));
}

}  // namespace
}  // namespace tutti::launcher
