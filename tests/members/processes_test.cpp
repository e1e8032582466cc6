// SPDX-License-Identifier: BSD-3-Clause
#include "members/processes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace tutti::members {
namespace {

TEST(Processes, RanksOfTheOwnJobAreTheirNumbers) {
  Processes all(7, 4);
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(all.number_of({7, rank}), rank);
    EXPECT_EQ(all.find({7, rank}), rank);
    EXPECT_EQ(all.name_of(rank), (GlobalName{7, rank}));
    EXPECT_FALSE(all.is_foreign(rank));
  }
  for (const int rank : {-1, 4}) {
    EXPECT_EQ(all.find({7, rank}), -1);
    EXPECT_EQ(all.number_of({7, rank}), -1);
  }
  EXPECT_EQ(all.count(), 4);
}

TEST(Processes, OthersGetNumbersBehindInTheOrderOfTheirComing) {
  Processes all(7, 2);
  EXPECT_EQ(all.find({9, 5}), -1);
  EXPECT_EQ(all.number_of({9, 5}, "node2"), 2);
  EXPECT_EQ(all.number_of({8, 0}), 3);
  EXPECT_EQ(all.number_of({9, 0}), 4);
  EXPECT_EQ(all.number_of({9, 5}), 2);  // known already
  EXPECT_EQ(all.count(), 5);
  EXPECT_EQ(all.name_of(2), (GlobalName{9, 5}));
  EXPECT_TRUE(all.is_foreign(2));
  EXPECT_EQ(all.text(2), "rank 5 of another job on node2");
  EXPECT_EQ(all.text(1), "rank 1");
}

TEST(Processes, TheIdOfAJobIsTheSameOnItsRanksAndNoOther) {
  EXPECT_EQ(Processes::id_of("a", 4), Processes::id_of("a", 4));
  EXPECT_NE(Processes::id_of("a", 4), Processes::id_of("b", 4));
  EXPECT_NE(Processes::id_of("singleton-1", 1), Processes::id_of("singleton-1", 1));  // of two nodes
}

TEST(Processes, NodesAreAskedForOnce) {
  int asked = 0;
  Processes all(7, 3, [&] {
    ++asked;
    return std::vector<int>{0, 0, 1};
  });
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(all.nodes(), (std::vector<int>{0, 0, 1}));
  EXPECT_EQ(all.nodes(), (std::vector<int>{0, 0, 1}));
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(Processes(7, 3).nodes().empty());
}

TEST(Processes, WhoIsMetStaysWhereItIs) {
  Processes all(7, 2);
  const int other = all.number_of({9, 5}, "node2");
  EXPECT_FALSE(all.address_of(other));
  all.meet(other, "here", 3);
  all.meet(other, "there", 4);
  const Result<std::string> address = all.address_of(other);
  ASSERT_TRUE(address);
  EXPECT_EQ(*address, "here");
  EXPECT_EQ(all.known_as(other), 3);
}

// What becomes of each state by each report; nothing: it is no news.
TEST(Processes, StatesByWhatIsReported) {
  constexpr State kAlive = State::alive, kSuspected = State::suspected, kFailed = State::failed, kLeft = State::left;
  constexpr std::nullopt_t kNoNews = std::nullopt;
  struct Row {
    State before, reported;
    std::optional<State> after;
  };
  const Row rows[] = {
      {kAlive, kAlive, kNoNews},      {kAlive, kSuspected, kSuspected}, {kAlive, kFailed, kFailed},
      {kAlive, kLeft, kLeft},         {kSuspected, kAlive, kAlive},     {kSuspected, kSuspected, kNoNews},
      {kSuspected, kFailed, kFailed}, {kSuspected, kLeft, kLeft},       {kFailed, kAlive, kNoNews},
      {kFailed, kSuspected, kNoNews}, {kFailed, kFailed, kNoNews},      {kFailed, kLeft, kNoNews},
      {kLeft, kAlive, kNoNews},       {kLeft, kSuspected, kNoNews},     {kLeft, kFailed, kNoNews},
      {kLeft, kLeft, kNoNews},
  };
  for (const Row& row : rows) {
    const std::string name =
        std::to_string(static_cast<int>(row.before)) + " then " + std::to_string(static_cast<int>(row.reported));
    Processes all(7, 3);
    all.report(1, row.before, "before");
    const size_t before = all.changes();
    EXPECT_EQ(before, row.before == kAlive ? 0U : 1U) << name;
    EXPECT_EQ(all.report(1, row.reported, "reported"), row.after.has_value()) << name;
    EXPECT_EQ(all.state_of(1), row.after.value_or(row.before)) << name;
    EXPECT_EQ(all.changes(), before + row.after.has_value()) << name;
    EXPECT_EQ(all.state_of(0), kAlive) << name;
    const bool is_alive = all.state_of(1) == kAlive;
    EXPECT_EQ(all.count(kAlive), is_alive ? 3 : 2) << name;
    EXPECT_EQ(all.count(all.state_of(1)), is_alive ? 3 : 1) << name;
  }
}

TEST(Processes, ChangesAreReadFromWhereTheyWereReadLast) {
  Processes all(7, 4);
  const int other = all.number_of({9, 0});
  EXPECT_TRUE(all.changes_since(0).empty());
  EXPECT_TRUE(all.report(2, State::suspected, "is silent"));
  EXPECT_TRUE(all.report(other, State::failed, "is gone"));
  EXPECT_FALSE(all.report(5, State::failed, "is nobody"));
  EXPECT_FALSE(all.report(-1, State::failed, "is nobody"));
  const std::vector<Change> first = all.changes_since(0);
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[0].process, 2);
  EXPECT_EQ(first[0].state, State::suspected);
  EXPECT_EQ(first[0].why, "is silent");
  EXPECT_EQ(first[1].process, other);
  EXPECT_TRUE(all.report(2, State::failed, "was killed"));
  const std::vector<Change> second = all.changes_since(first.size());
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].why, "was killed");
  EXPECT_TRUE(all.changes_since(3).empty());
  EXPECT_TRUE(all.changes_since(17).empty());
}

// Several threads report of the same processes, while others come to be known, and readers follow. Each change is read
// once by each reader, in one order, and the number that a reader sees is never more than it can read.
TEST(Processes, ThreadsReportAndRead) {
  constexpr int kSize = 64, kReporters = 3, kReaders = 2;
  Processes all(7, kSize);
  std::atomic<int> reporting{kReporters}, news{0};
  std::vector<std::vector<Change>> read(kReaders);
  std::vector<std::thread> threads;
  for (int r = 0; r < kReporters; ++r)
    threads.emplace_back([&, r] {
      for (int i = 0; i < kSize; ++i) {
        const int process = (i + r * kSize / kReporters) % kSize;
        news += all.report(process, State::suspected, "is silent");
        news += all.report(process, r == 0 ? State::left : State::failed, "has ended");
        const int other = all.number_of({9, i});
        all.meet(other, std::to_string(i), i);
        news += all.report(other, State::failed, "is gone");
      }
      --reporting;
    });
  for (int r = 0; r < kReaders; ++r)
    threads.emplace_back([&, r] {
      std::vector<Change>& mine = read[static_cast<size_t>(r)];
      for (bool last = false; !last;) {
        last = reporting == 0;
        const size_t seen = all.changes();
        if (seen == mine.size()) continue;
        for (Change& change : all.changes_since(mine.size())) mine.push_back(std::move(change));
        EXPECT_GE(mine.size(), seen);
        EXPECT_NE(all.state_of(mine.back().process), State::alive);
      }
    });
  for (std::thread& thread : threads) thread.join();
  // A process of the own job is suspected once, if at all before its end, and ends once; another one fails once.
  EXPECT_EQ(all.count(), 2 * kSize);
  EXPECT_EQ(all.count(State::failed) + all.count(State::left), 2 * kSize);
  const std::vector<Change> whole = all.changes_since(0);
  EXPECT_EQ(static_cast<int>(whole.size()), news);
  for (int process = 0; process < 2 * kSize; ++process) {
    const auto is_end = [&](const Change& c) { return c.process == process && c.state == all.state_of(process); };
    EXPECT_EQ(std::ranges::count_if(whole, is_end), 1) << process;
  }
  for (const std::vector<Change>& each : read) {
    ASSERT_EQ(each.size(), whole.size());
    for (size_t i = 0; i < whole.size(); ++i) {
      EXPECT_EQ(each[i].process, whole[i].process);
      EXPECT_EQ(each[i].state, whole[i].state);
    }
  }
}

}  // namespace
}  // namespace tutti::members
