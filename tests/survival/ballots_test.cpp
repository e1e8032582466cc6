// SPDX-License-Identifier: BSD-3-Clause
// Agreements in memory that made-up ranks share, one after the other, by schedules that a seed makes: calls, looks and news of
// failures come in any order, and ranks fail at any step, also amid writing their ballots. Whatever happens there is one
// decision of each agreement, made of what those gave of whom it says so, and everybody who lives makes it.
#include "survival/ballots.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "schedules.hpp"

namespace tutti::survival {
namespace {

constexpr uint32_t kAgreements = 5;

struct Schedule {
  uint64_t seed;
  int size, most_deaths;
};

class World {
 public:
  explicit World(const Schedule& how)
      : random_(how.seed),
        size_(how.size),
        deaths_(how.most_deaths),
        memory_(static_cast<std::byte*>(std::aligned_alloc(cpu::kLine, Ballots::bytes(size_))), std::free) {
    std::memset(memory_.get(), 0, Ballots::bytes(size_));
    for (int rank = 0; rank < size_; ++rank) {
      ranks_.emplace_back();
      ranks_.back().ballots = std::make_unique<Ballots>(memory_.get(), size_, rank);
      ranks_.back().failed = Ranks(size_);
    }
  }

  void run() {
    for (int idle = 0; idle < 200 * size_;) idle = step() ? 0 : idle + 1;
  }

  void judge() const {
    for (uint32_t serial = 0; serial < kAgreements; ++serial) {
      const Decision* one = nullptr;
      for (int rank = 0; rank < size_; ++rank) {
        const Rank& each = ranks_[static_cast<size_t>(rank)];
        if (each.decisions.size() <= serial) {
          ASSERT_FALSE(each.lives) << "rank " << rank << " lives and has not decided " << serial;
          continue;
        }
        if (!one) one = &each.decisions[serial];
        ASSERT_TRUE(*one == each.decisions[serial]) << "rank " << rank << " has decided " << serial << " otherwise";
      }
      if (one) judge(serial, *one);
    }
  }

 private:
  struct Rank {
    std::unique_ptr<Ballots> ballots;
    bool lives = true;
    Ranks failed;                    // whose failure it has been told of
    std::vector<Contribution> gave;  // by serial
    std::vector<Decision> decisions;
  };

  int pick(int of) { return static_cast<int>(random_() % static_cast<uint64_t>(of)); }

  void judge(uint32_t serial, const Decision& decision) const {
    uint64_t flag = ~uint64_t{0};
    Ranks failed = decision.contributors.others(), acknowledged = Ranks::all(size_);
    for (int rank = 0; rank < size_; ++rank) {
      const Rank& each = ranks_[static_cast<size_t>(rank)];
      if (!decision.contributors.has(rank)) {
        ASSERT_FALSE(each.lives) << "rank " << rank << " lives and is left out of " << serial;
        continue;
      }
      ASSERT_GT(each.gave.size(), serial) << "rank " << rank << " has not called " << serial;
      const Contribution& its = each.gave[serial];
      flag &= its.flag;
      failed |= its.failed;
      acknowledged &= its.acknowledged;
    }
    ASSERT_EQ(decision.flags[0], flag);
    ASSERT_TRUE(decision.failed == failed);
    const int first = decision.contributors.first();
    ASSERT_EQ(decision.word, ranks_[static_cast<size_t>(first)].gave[serial].word);
    ASSERT_EQ(decision.unacknowledged, !acknowledged.has_all_of(decision.contributors.others()));
  }

  void kill(int rank) {
    Rank& victim = ranks_[static_cast<size_t>(rank)];
    victim.lives = false;
    --deaths_;
    for (int other = 0; other < size_; ++other)
      if (other != rank) news_.push_back({other, rank});
  }

  // It may fail before all of its ballot is written, which its stamp, the first word, tells; or right behind.
  void call(int rank) {
    Rank& caller = ranks_[static_cast<size_t>(rank)];
    const auto serial = static_cast<uint32_t>(caller.gave.size());
    Contribution mine{
        .flag = random_(), .acknowledged = Ranks(size_), .failed = Ranks(size_), .word = random_(), .settled = 0};
    for (int other = 0; other < size_; ++other) {
      if (!caller.failed.has(other)) continue;
      if (pick(2)) mine.failed.add(other);
      if (pick(2)) mine.acknowledged.add(other);
    }
    const bool dies = deaths_ > 0 && pick(4 * size_) == 0;
    if (dies && pick(2)) {
      const size_t line = (serial % 2) * static_cast<size_t>(size_) + static_cast<size_t>(rank);
      std::memset(memory_.get() + line * cpu::kLine + sizeof(uint64_t), 0x5a, cpu::kLine / 2);
      return kill(rank);
    }
    caller.gave.push_back(mine);
    caller.ballots->cast(serial, mine);
    if (dies) kill(rank);
  }

  bool step() {
    if (deaths_ > 0 && pick(8 * size_) == 0)
      if (const int victim = pick(size_); ranks_[static_cast<size_t>(victim)].lives) kill(victim);
    if (!news_.empty() && pick(3) == 0) {
      const size_t at = random_() % news_.size();
      ranks_[static_cast<size_t>(news_[at].first)].failed.add(news_[at].second);
      news_[at] = news_.back();
      news_.pop_back();
      return true;
    }
    const int who = pick(size_);
    Rank& rank = ranks_[static_cast<size_t>(who)];
    if (!rank.lives) return false;
    if (rank.gave.size() == rank.decisions.size()) {
      if (rank.gave.size() == kAgreements || pick(3) == 0) return false;
      return call(who), true;
    }
    std::optional<Decision> decision = rank.ballots->count(static_cast<uint32_t>(rank.decisions.size()), rank.failed);
    if (!decision) return false;
    rank.decisions.push_back(*std::move(decision));
    return true;
  }

  std::mt19937_64 random_;
  const int size_;
  int deaths_;
  const std::unique_ptr<std::byte, void (*)(void*)> memory_;
  std::deque<Rank> ranks_;
  std::vector<std::pair<int, int>> news_;  // to whom, of whom
};

void try_schedule(const Schedule& how) {
  SCOPED_TRACE("seed " + std::to_string(how.seed) + ", " + std::to_string(how.size) + " ranks");
  World world(how);
  world.run();
  world.judge();
}

TEST(Ballots, SmallSchedules) {
  const int count = times(10'000, 1'000'000);
  for (int seed = 0; seed < count && !testing::Test::HasFailure(); ++seed) {
    const int size = 1 + seed % 8;
    try_schedule({static_cast<uint64_t>(seed), size, seed / 8 % size});
  }
}

TEST(Ballots, LargeSchedules) {
  const int count = times(20, 1000);
  for (int seed = 0; seed < count && !testing::Test::HasFailure(); ++seed) {
    const int size = seed % 2 ? Ballots::kMostRanks : 33;
    try_schedule({static_cast<uint64_t>(seed), size, size / 2});
  }
}

}  // namespace
}  // namespace tutti::survival
