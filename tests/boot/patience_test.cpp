// SPDX-License-Identifier: BSD-3-Clause
// Ranks that wait at their start, and what each says when, over a made-up clock.
#include "boot/patience.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>

namespace tutti::boot {
namespace {

using namespace std::chrono_literals;

class Start : public ::testing::Test {
 protected:
  struct Rank {
    std::unique_ptr<Patience> patience;
    int asked = 0;
    std::vector<int> told;                               // seconds
    std::vector<std::pair<int, std::string>> sentences;  // seconds, words
  };

  void waits(int rank, int size, bool own_launcher = false, std::chrono::seconds since = 0s) {
    JobInfo view;
    view.rank = rank;
    view.size = size;
    view.own_launcher = own_launcher;
    Rank& mine = ranks_[rank];
    mine.patience =
        std::make_unique<Patience>(view, start_ + since,
                                   Patience::Means{.tell =
                                                       [this, rank] {
                                                         known_.insert(rank);
                                                         ranks_[rank].told.push_back(seconds());
                                                       },
                                                   .ask = [&mine](int) { ++mine.asked; },
                                                   .has_come = [this](int other) { return known_.contains(other); }});
  }
  void pass(std::chrono::seconds until) {
    for (; now_ <= start_ + until; now_ += 100ms)
      for (auto& [number, rank] : ranks_) {
        const auto next = rank.patience->next();
        if (!next || *next > now_) continue;
        if (const auto sentence = rank.patience->lose(now_)) rank.sentences.emplace_back(seconds(), *sentence);
      }
  }
  int seconds() const {
    return static_cast<int>(std::chrono::duration_cast<std::chrono::seconds>(now_ - start_).count());
  }

  const Clock::time_point start_ = Clock::now();
  Clock::time_point now_ = start_;
  std::map<int, Rank> ranks_;
  std::set<int> known_;
};

TEST_F(Start, OwnLauncherHearsOfItAndDecides) {
  waits(1, 2, true);
  pass(40s);
  EXPECT_EQ(ranks_[1].told, (std::vector<int>{1, 2, 4, 8, 16, 31}));
  EXPECT_TRUE(ranks_[1].sentences.empty());
  EXPECT_EQ(ranks_[1].asked, 0);
}

TEST_F(Start, LowestSpeaksForAllAndEverMoreRarely) {
  for (int rank : {2, 3, 5}) waits(rank, 6);
  pass(120s);
  ASSERT_EQ(ranks_[2].sentences.size(), 3u);
  EXPECT_EQ(ranks_[2].told, std::vector<int>{1});
  EXPECT_LE(ranks_[2].sentences[0].first, 18);
  EXPECT_GE(ranks_[2].sentences[1].first, 45);
  EXPECT_GE(ranks_[2].sentences[2].first, 105);
  EXPECT_NE(ranks_[2].sentences[0].second.find("for ranks 0, 1 and 4, of which nothing is known yet"),
            std::string::npos)
      << ranks_[2].sentences[0].second;
  EXPECT_TRUE(ranks_[3].sentences.empty());
  EXPECT_TRUE(ranks_[5].sentences.empty());
}

TEST_F(Start, WhoComesLaterSpeaksIfItIsTheLowest) {
  waits(2, 3);
  pass(20s);
  waits(1, 3, false, 20s);
  pass(100s);
  ASSERT_EQ(ranks_[2].sentences.size(), 1u);
  ASSERT_FALSE(ranks_[1].sentences.empty());
  EXPECT_NE(ranks_[1].sentences[0].second.find("for rank 0,"), std::string::npos);
}

TEST_F(Start, ManyRanksAskFewOthers) {
  constexpr int kSize = 1000;
  for (int rank = 0; rank < kSize - 1; ++rank) waits(rank, kSize);
  pass(200s);
  EXPECT_FALSE(ranks_[0].sentences.empty());
  for (const auto& [number, rank] : ranks_) {
    if (number == 0) continue;
    EXPECT_LE(rank.asked, 8) << number;
    EXPECT_TRUE(rank.sentences.empty()) << number;
  }
}

}  // namespace
}  // namespace tutti::boot
