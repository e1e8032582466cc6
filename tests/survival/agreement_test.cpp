// SPDX-License-Identifier: BSD-3-Clause
// Agreements among made-up ranks, by schedules that a seed makes: calls, messages and news of failures come in any
// order, ranks fail at any step, also in the midst of telling the others something, and what they have sent may be lost.
// Whatever happens there is one decision, made of what those gave of whom it says so, and everybody who lives makes it.
#include "survival/agreement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <string>

#include "schedules.hpp"

namespace tutti::survival {
namespace {

struct Schedule {
  uint64_t seed;
  int size, most_deaths;
};

class World {
 public:
  explicit World(const Schedule& how) : random_(how.seed), size_(how.size), deaths_(how.most_deaths) {
    const int first_side = random_() % 2 ? size_ : 1 + static_cast<int>(random_() % static_cast<uint64_t>(size_));
    for (int rank = 0; rank < size_; ++rank) {
      ranks_.push_back({.machine = Agreement({.size = size_, .rank = rank, .first_side = first_side}), .gave = {}});
      uncalled_.push_back(rank);
    }
    first_side_ = first_side;
    // Some have failed before anybody calls, and some know of it.
    for (int i = static_cast<int>(random_() % 3); i > 0 && deaths_ > 0; --i) kill(pick(size_));
  }

  void run() {
    while (step()) {
    }
  }

  void judge() const {
    std::optional<Decision> one;
    for (int rank = 0; rank < size_; ++rank) {
      const Rank& each = ranks_[static_cast<size_t>(rank)];
      if (each.lives) {
        ASSERT_TRUE(each.machine.decision()) << "rank " << rank << " lives and has not decided";
      }
      if (!each.machine.decision()) continue;
      if (!one) one = each.machine.decision();
      ASSERT_TRUE(*one == *each.machine.decision()) << "rank " << rank << " has decided otherwise";
    }
    if (one) judge(*one);
  }

 private:
  struct Rank {
    Agreement machine;
    bool lives = true;
    std::optional<Contribution> gave;
  };
  struct Wire {
    std::deque<std::string> messages;
  };

  int pick(int of) { return static_cast<int>(random_() % static_cast<uint64_t>(of)); }

  void judge(const Decision& decision) const {
    uint64_t flags[2] = {~uint64_t{0}, ~uint64_t{0}};
    Ranks failed = decision.contributors.others(), acknowledged = Ranks::all(size_);
    bool word_is_of_one = false;
    for (int rank = 0; rank < size_; ++rank) {
      const Rank& each = ranks_[static_cast<size_t>(rank)];
      if (!decision.contributors.has(rank)) {
        ASSERT_FALSE(each.lives) << "rank " << rank << " lives and is left out";
        continue;
      }
      ASSERT_TRUE(each.gave) << "rank " << rank << " has not called";
      flags[rank >= first_side_] &= each.gave->flag;
      failed |= each.gave->failed;
      acknowledged &= each.gave->acknowledged;
      word_is_of_one |= decision.word == each.gave->word;
    }
    ASSERT_EQ(decision.flags[0], flags[0]);
    ASSERT_EQ(decision.flags[1], flags[1]);
    ASSERT_TRUE(decision.failed == failed);
    ASSERT_TRUE(word_is_of_one);
    ASSERT_EQ(decision.unacknowledged, !acknowledged.has_all_of(decision.contributors.others()));
  }

  void kill(int rank) {
    Rank& victim = ranks_[static_cast<size_t>(rank)];
    if (!victim.lives) return;
    victim.lives = false;
    --deaths_;
    std::erase(uncalled_, rank);
    // What is on its way is lost in part: the latest messages to some.
    for (auto& [between, wire] : wires_)
      if (between.first == rank)
        while (!wire.messages.empty() && pick(3) == 0) wire.messages.pop_back();
    for (int other = 0; other < size_; ++other)
      if (ranks_[static_cast<size_t>(other)].lives) news_.push_back({other, rank});
  }

  // It may fail before it has sent all.
  void send(int from) {
    for (auto& [to, message] : ranks_[static_cast<size_t>(from)].machine.take_messages()) {
      if (deaths_ > 0 && pick(8 * size_) == 0) return kill(from);
      std::string text;
      message.write(text);
      wires_[{from, to}].messages.push_back(std::move(text));
    }
  }

  void call() {
    const int at = pick(static_cast<int>(uncalled_.size()));
    const int rank = uncalled_[static_cast<size_t>(at)];
    uncalled_.erase(uncalled_.begin() + at);
    Rank& caller = ranks_[static_cast<size_t>(rank)];
    Contribution mine{.flag = random_(), .acknowledged = Ranks(size_), .failed = Ranks(size_), .word = random_()};
    for (int other = 0; other < size_; ++other) {
      if (ranks_[static_cast<size_t>(other)].lives) continue;
      if (pick(2)) mine.failed.add(other);
      if (pick(2)) mine.acknowledged.add(other);
    }
    caller.gave = mine;
    caller.machine.contribute(mine);
    send(rank);
  }

  void tell_news() {
    const size_t at = random_() % news_.size();
    const auto [to, failed] = news_[at];
    news_[at] = news_.back();
    news_.pop_back();
    if (!ranks_[static_cast<size_t>(to)].lives) return;
    ranks_[static_cast<size_t>(to)].machine.fail(failed);
    send(to);
  }

  bool deliver() {
    std::vector<std::pair<int, int>> busy;
    for (auto& [between, wire] : wires_)
      if (!wire.messages.empty()) busy.push_back(between);
    if (busy.empty()) return false;
    const auto [from, to] = busy[random_() % busy.size()];
    const std::string text = std::move(wires_[{from, to}].messages.front());
    wires_[{from, to}].messages.pop_front();
    if (!ranks_[static_cast<size_t>(to)].lives) return true;
    const std::optional<Message> message = Message::read(text, size_);
    EXPECT_TRUE(message);
    ranks_[static_cast<size_t>(to)].machine.receive(from, *message);
    send(to);
    return true;
  }

  bool step() {
    if (deaths_ > 0 && pick(4 * size_) == 0) kill(pick(size_));
    const int what = pick(4);
    if (what == 0 && !uncalled_.empty()) return call(), true;
    if (what == 1 && !news_.empty()) return tell_news(), true;
    if (deliver()) return true;
    if (!uncalled_.empty()) return call(), true;
    if (!news_.empty()) return tell_news(), true;
    return false;
  }

  std::mt19937_64 random_;
  const int size_;
  int first_side_ = 0, deaths_;
  std::vector<Rank> ranks_;
  std::vector<int> uncalled_;
  std::vector<std::pair<int, int>> news_;  // to whom, of whom
  std::map<std::pair<int, int>, Wire> wires_;
};

void try_schedule(const Schedule& how) {
  SCOPED_TRACE("seed " + std::to_string(how.seed) + ", " + std::to_string(how.size) + " ranks");
  World world(how);
  world.run();
  world.judge();
}

TEST(Agreement, SmallSchedules) {
  const int count = times(20'000, 1'000'000);
  for (int seed = 0; seed < count && !testing::Test::HasFailure(); ++seed) {
    const int size = 2 + seed % 7;
    try_schedule({static_cast<uint64_t>(seed), size, seed / 7 % size});
  }
}

TEST(Agreement, LargeSchedules) {
  const int count = times(10, 200);
  for (int seed = 0; seed < count && !testing::Test::HasFailure(); ++seed) {
    const int size = 32 << (seed % 3);
    try_schedule({static_cast<uint64_t>(seed), size, size / 3});
  }
}

TEST(Agreement, NobodyFails) {
  for (const int size : {1, 2, 3, 8}) try_schedule({7, size, 0});
}

TEST(Agreement, WhatIsNoMessageIsNone) {
  Message message{.contribution = {.acknowledged = Ranks(70), .failed = Ranks(70)}, .decision = {}};
  std::string text;
  message.write(text);
  EXPECT_TRUE(Message::read(text, 70));
  EXPECT_FALSE(Message::read(text, 130));
  EXPECT_FALSE(Message::read(text.substr(1), 70));
  EXPECT_FALSE(Message::read("", 70));
}

}  // namespace
}  // namespace tutti::survival
