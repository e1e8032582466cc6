// SPDX-License-Identifier: BSD-3-Clause
// Which communicator has which area of a node's memory: all of its ranks get the same answer,
// whatever happens in between, and areas come back.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "memory/peer_memory.hpp"
#include "transport/shared/node_areas.hpp"

namespace tutti::transport {
namespace {

// The ranks of one node, all of them in this process.
class Areas : public testing::Test {
 protected:
  static constexpr int kMembers = 4;

  void SetUp() override {
    static int tests = 0;
    for (int i = 0; i < kMembers; ++i) {
      auto attached = NodeSegment::attach("tutti.areas-test." + std::to_string(getpid()) + "." + std::to_string(tests),
                                          kMembers, i, token_);
      ASSERT_TRUE(attached) << attached.error().message();
      segments_.push_back(*std::move(attached));
    }
    ++tests;
  }
  static AreaKey key(uint32_t slot, uint32_t generation, int owner = 0) {
    const uint64_t id = (static_cast<uint64_t>(owner) << 20 | slot) << 19 | generation;
    return {id << 1, owner, slot, generation, 1u << 19};
  }
  std::unique_ptr<Area> find(int member, const AreaKey& key, std::vector<int> members) {
    const auto rank = std::find(members.begin(), members.end(), member) - members.begin();
    return find_area(segments_[static_cast<size_t>(member)], key, members, static_cast<int>(rank), reads_);
  }

  std::vector<std::shared_ptr<NodeSegment>> segments_;
  const std::vector<int> all_{0, 1, 2, 3};
  uint64_t token_ = 1;
  bool reads_ = true;
};

TEST_F(Areas, RanksOfACommunicatorMeetThere) {
  const auto a = find(1, key(5, 1), all_), b = find(3, key(5, 1), all_);
  const auto other = find(1, key(6, 1), all_);
  ASSERT_TRUE(a && b && other);
  for (const auto& area : {&a, &b}) {
    EXPECT_EQ((*area)->small().take(1), 0u);
    EXPECT_TRUE((*area)->has_large());
  }
  ASSERT_TRUE(a->small().claim(0));
  std::memcpy(a->small().data(0, 1), "hello", 6);
  EXPECT_FALSE(b->small().is_raised(0, 1));
  a->small().raise(0, 77, -1);
  EXPECT_TRUE(b->small().is_raised(0, 1));
  EXPECT_EQ(b->small().signature(0, 1), 77u);
  EXPECT_STREQ(reinterpret_cast<const char*>(b->small().data(0, 1)), "hello");
  EXPECT_FALSE(other->small().is_raised(0, 1));
}

// Ranks choose algorithms by it, so it must never be two values; also when all ask at once.
TEST_F(Areas, AllRanksSeeTheSameReadRate) {
  std::vector<std::unique_ptr<Area>> areas;
  for (int member = 0; member < kMembers; ++member) areas.push_back(find(member, key(5, 1), all_));
  std::vector<int64_t> rates(kMembers);
  {
    std::vector<std::jthread> ranks;
    for (size_t i = 0; i < rates.size(); ++i) ranks.emplace_back([&, i] { rates[i] = areas[i]->read_rate(); });
  }
  for (const int64_t rate : rates) EXPECT_EQ(rate, rates[0]);
  EXPECT_EQ(find(2, key(6, 1), {1, 2})->read_rate(), rates[0]);
  uint64_t word = 0;
  if (memory::PeerMemory(segments_[0]->desk(1).known, true)
          .read(reinterpret_cast<uint64_t>(&token_), {&word, sizeof word}, 0, sizeof word)) {
    EXPECT_GT(rates[0], 100'000'000);
    EXPECT_LT(rates[0], 1'000'000'000'000);
  } else {
    EXPECT_EQ(rates[0], 0);
  }
}
TEST_F(Areas, WhereReadsAreNotWantedTheReadRateIsNone) {
  reads_ = false;
  EXPECT_EQ(find(0, key(5, 1), all_)->read_rate(), 0);
  reads_ = true;
  EXPECT_EQ(find(1, key(5, 1), all_)->read_rate(), 0);
}

// Nobody may write over what somebody still reads, nor wait for more than that.
TEST_F(Areas, AWindowIsFreeWhenAllHaveLeftIt) {
  const auto a = find(0, key(5, 1), {0, 1}), b = find(1, key(5, 1), {0, 1});
  ASSERT_TRUE(a && b);
  Lane &one = a->small(), &two = b->small();
  const uint32_t windows = one.windows();
  for (uint32_t r = 0; r < windows; ++r) {
    ASSERT_TRUE(one.claim(r));
    one.leave(r);
  }
  EXPECT_FALSE(one.claim(windows));
  two.leave(1);  // the one before is not left
  EXPECT_FALSE(one.claim(windows));
  EXPECT_FALSE(two.is_in_reach(windows));
  two.leave(0);
  EXPECT_TRUE(two.is_in_reach(windows + 1));
  EXPECT_FALSE(two.is_in_reach(windows + 2));
  EXPECT_TRUE(one.claim(windows));
  EXPECT_TRUE(one.claim(windows + 1));
  EXPECT_FALSE(one.claim(windows + 2));
}

TEST_F(Areas, WithoutOneLeftThereIsNoneForAnyRank) {
  std::vector<std::unique_ptr<Area>> taken;
  for (uint32_t slot = 2;; ++slot) {
    auto area = find(0, key(slot, 1), all_);
    if (!area) {
      // One comes back, but a rank has been told that there is none.
      for (int member = 1; member < kMembers; ++member) ASSERT_TRUE(find(member, key(2, 1), all_));
      taken.erase(taken.begin());
      for (int member = 1; member < kMembers; ++member) EXPECT_FALSE(find(member, key(slot, 1), all_));
      EXPECT_TRUE(find(2, key(slot, 2), all_));   // the next one in that slot is another one
      EXPECT_FALSE(find(1, key(slot, 1), all_));  // and a late rank is told the same as before
      break;
    }
    taken.push_back(std::move(area));
    ASSERT_LE(taken.size(), static_cast<size_t>(NodeSegment::kAreas));
  }
  EXPECT_EQ(taken.size(), static_cast<size_t>(NodeSegment::kAreas) - 1);
}

// Thousands of communicators of different sizes, one after the other and side by side: what one
// has written is nothing to the next.
TEST_F(Areas, ComeBackAsNew) {
  std::mt19937 random(1);
  std::vector<std::vector<std::unique_ptr<Area>>> living(20);
  for (uint32_t i = 0; i < 5000; ++i) {
    const size_t at = i % living.size();
    living[at].clear();
    std::vector<int> members = all_;
    std::shuffle(members.begin(), members.end(), random);
    members.resize(2 + random() % 3);
    const AreaKey k = key(static_cast<uint32_t>(at) + 2, i / 20 + 1, members[0]);
    for (const int member : members) {
      living[at].push_back(find(member, k, members));
      ASSERT_TRUE(living[at].back()) << i;
    }
    for (Lane* lane : {&living[at][0]->small(), &living[at][0]->large()}) {
      if (lane == &living[at][0]->large() && (i % 50 != 0 || !living[at][0]->has_large())) continue;
      for (uint32_t r = 0; r < lane->windows(); ++r) {
        for (int rank = 0; rank < static_cast<int>(members.size()); ++rank) ASSERT_FALSE(lane->is_raised(r, rank)) << i;
        ASSERT_TRUE(lane->claim(r)) << i;
        std::memset(lane->data(r, 0), 0x01, static_cast<size_t>(lane->data_bytes()));
        lane->raise(r, 1, -1);
        lane->leave(r);
      }
      ASSERT_FALSE(lane->claim(lane->windows())) << i;
    }
  }
}

// Who dies while it holds a lock holds it no more, once that is known; who lives does.
TEST_F(Areas, ALockDoesNotEndWithItsHolder) {
  std::atomic<uint32_t> word{0};
  bool is_dead = false;
  const IsGone is_gone = [&](int member) { return is_dead && member == 3; };
  MemberLock others(word, 3, is_gone), mine(word, 1, is_gone);
  ASSERT_TRUE(others.try_lock());
  EXPECT_FALSE(mine.try_lock());
  is_dead = true;
  EXPECT_TRUE(mine.try_lock());
  EXPECT_FALSE(MemberLock(word, 2, is_gone).try_lock());  // of one who lives
  mine.unlock();
  EXPECT_TRUE(MemberLock(word, 2, is_gone).try_lock());
}

// Of communicators whose other rank has failed, and of those that a rank has never asked for, the areas come back, too.
TEST_F(Areas, ComeBackFromThoseWhoFail) {
  bool is_dead = false;
  for (const auto& segment : segments_) segment->set_is_gone([&](int member) { return is_dead && member == 3; });
  constexpr uint32_t kMany = 2 * NodeSegment::kAreas;
  std::vector<std::unique_ptr<Area>> of_the_dead;
  for (uint32_t slot = 2; slot < 2 + NodeSegment::kAreas; ++slot) {
    ASSERT_TRUE(find(0, key(slot, 1), {0, 3})) << slot;
    of_the_dead.push_back(find(3, key(slot, 1), {0, 3}));
    ASSERT_TRUE(of_the_dead.back()) << slot;
  }
  EXPECT_FALSE(find(0, key(100, 1), {0, 1}));  // it lives, and holds them
  is_dead = true;
  for (uint32_t slot = 101; slot < 101 + kMany; ++slot) {
    const auto area = find(0, key(slot, 1), {0, 1, 3});
    ASSERT_TRUE(area) << slot;
    EXPECT_FALSE(area->small().is_raised(0, 2));
    decline_area(*segments_[1], key(slot, 1));
  }
  // Who declines before anybody has asked declines for all.
  decline_area(*segments_[1], key(200, 1));
  EXPECT_FALSE(find(0, key(200, 1), {0, 1}));
  EXPECT_TRUE(find(0, key(200, 2), {0, 1}));
}

TEST_F(Areas, LanesFitWhateverTheNumberOfRanks) {
  for (int ranks = 2; ranks <= 64; ++ranks) {
    for (const LaneGeometry& g : {small_lane(ranks), large_lane(ranks)}) {
      EXPECT_GE(g.windows, 4u) << ranks;
      EXPECT_GE(g.data_bytes(), 1000u) << ranks;
    }
    EXPECT_GE(large_lane(ranks).windows, 8u) << ranks;
    EXPECT_LE(small_lane(ranks).bytes() + large_lane(ranks).bytes(), NodeSegment::kAreaBytes);
    EXPECT_LE(small_lane(ranks).bytes(), size_t{1} << 20) << ranks;
  }
  for (const int ranks : {65, 67, 68, 96, 128, 200, 256}) {
    for (const LaneGeometry& g : {small_lane(ranks), large_lane(ranks)}) {
      EXPECT_GE(g.windows, 4u) << ranks;
      EXPECT_GE(g.data_bytes(), 900u) << ranks;
    }
    EXPECT_LE(small_lane(ranks).bytes(), size_t{1} << 20) << ranks;
    EXPECT_LE(large_lane(ranks).bytes(), size_t{8} << 20) << ranks;
  }
  EXPECT_EQ(small_lane(100000).windows, 0u);
}

}  // namespace
}  // namespace tutti::transport
