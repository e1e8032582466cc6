// SPDX-License-Identifier: BSD-3-Clause
// Which way an on-node message takes, by its length and by what holds: against the same in words; and the table of
// values by process.
#include "transport/shm/ways.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "base/by_process.hpp"
#include "transport/shm/learnt.hpp"

namespace tutti::transport {
namespace {

constexpr int64_t kLengths[] = {
    0, 1, 2047, 2048, 2049, 8191, 8192, 8193, 32 << 10, 32769, 64 << 10, 128 << 10, 131073, 1 << 20, int64_t{5} << 30};

Leaving leaving_in_words(uint32_t holds, int64_t bytes) {
  const auto all = [&](uint32_t these) { return (holds & these) == these; };
  if (bytes <= 2048) return Leaving::in_one_record;
  if (bytes <= 32768) {
    const bool is_read = bytes >= 8192 && all(two_cores | one_run | awake | far | readable);
    return is_read ? Leaving::announced : Leaving::in_pieces;
  }
  const bool through_ring = bytes <= 131072 && all(two_cores | one_run | of_choice | wished | room_for_all);
  return through_ring ? Leaving::in_pieces : Leaving::announced;
}

Coming coming_in_words(uint32_t holds, int64_t bytes) {
  const auto all = [&](uint32_t these) { return (holds & these) == these; };
  if (!all(readable)) return Coming::sent;
  if (all(two_cores | awake | among_others | one_way | large_ring | prompt | gains)) return Coming::streamed;
  if (bytes > 131072 && all(two_cores | one_run | alone | one_way)) return Coming::from_both_ends;
  return Coming::read;
}

TEST(WaysTest, AreTakenAsTheTablesSay) {
  const Limits limits(1 << 20, 128);
  for (uint32_t holds = 0; holds < 2 * kLastCondition; ++holds)
    for (const int64_t bytes : kLengths) {
      const auto ask = [&](Need condition) { return (holds & condition) != 0; };
      ASSERT_EQ(way_of(kLeaving, limits, bytes, ask), leaving_in_words(holds, bytes)) << holds << ' ' << bytes;
      ASSERT_EQ(way_of(kComing, Limits::of_any_ring(), bytes, ask), coming_in_words(holds, bytes))
          << holds << ' ' << bytes;
    }
}

// Nothing is found out for a short message, and what is dear only where all else holds.
TEST(WaysTest, AskForNoMoreThanTheyNeed) {
  const Limits limits(1 << 20, 128);
  uint32_t asked = 0;
  const auto way = [&](int64_t bytes, uint32_t holds) {
    asked = 0;
    return way_of(kLeaving, limits, bytes, [&](Need condition) {
      asked |= condition;
      return (holds & condition) != 0;
    });
  };
  EXPECT_EQ(way(2048, 0), Leaving::in_one_record);
  EXPECT_EQ(asked, 0U);
  EXPECT_EQ(way(8191, ~0U), Leaving::in_pieces);
  EXPECT_EQ(asked, 0U);
  EXPECT_EQ(way(8192, ~far), Leaving::in_pieces);
  EXPECT_EQ(asked, two_cores | one_run | awake | far) << "a near receiver's memory is not tried";
  EXPECT_EQ(way(8192, ~0U), Leaving::announced);
  EXPECT_EQ(way(64 << 10, ~wished), Leaving::announced);
  EXPECT_EQ(asked, two_cores | one_run | of_choice | wished) << "nor is the room looked for";
}

// Before there is a ring no message is short, and where it is small, what goes through it is.
TEST(WaysTest, FollowTheRing) {
  const auto way = [](const Limits& limits, int64_t bytes) {
    return way_of(kLeaving, limits, bytes, [](Need) { return false; });
  };
  EXPECT_EQ(Limits()[Length::inlined], -1);
  EXPECT_EQ(way(Limits(), 0), Leaving::in_pieces);
  const Limits small(1000, 128);
  EXPECT_EQ(way(small, 872), Leaving::in_one_record);
  EXPECT_EQ(way(small, 873), Leaving::in_pieces);
  EXPECT_EQ(way(small, 2000), Leaving::in_pieces);
  EXPECT_EQ(way(small, 2001), Leaving::announced);
}

// ---- what is learnt

constexpr int64_t kMiddle = 64 << 10, kNewMemory = 100'000;

TEST(LearntTest, ThatAPeerLetMeWaitIsForgotten) {
  Learnt learnt(0.5, kNewMemory);
  EXPECT_TRUE(learnt.is_prompt_for_one());
  learnt.let_me_wait();
  int read = 0;
  while (!learnt.is_prompt_for_one()) ++read;
  EXPECT_EQ(read, 64);
  EXPECT_TRUE(learnt.is_prompt());
}

// It is told that the ring is tried once, and that this is over; what touched new memory taught nothing.
TEST(LearntTest, WishesAreToldWhenTheyChange) {
  Learnt learnt(0.5, kNewMemory);
  uint32_t wishes = 0;
  std::vector<uint32_t> told;
  uint64_t now = 1000;
  for (int i = 0; i < 64; ++i) {
    const bool through_ring = (wishes & Learnt::wish_for(kMiddle)) != 0;
    const uint64_t begun = now;
    now += through_ring ? 9000 : 3000;
    if (through_ring)
      learnt.came_through_ring(begun, now, {}, kMiddle);
    else
      learnt.was_read(begun, now, kMiddle);
    uint32_t news;
    if (learnt.has_new_wishes(news)) told.push_back(news);
    wishes = news;
  }
  EXPECT_EQ(told, (std::vector<uint32_t>{Learnt::wish_for(kMiddle), 0}));
  EXPECT_FALSE(Learnt::has_choice(32 << 10));
  EXPECT_TRUE(Learnt::has_choice((32 << 10) + 1));
  EXPECT_TRUE(Learnt::has_choice(128 << 10));
  EXPECT_FALSE(Learnt::has_choice((128 << 10) + 1));
  EXPECT_NE(Learnt::wish_for(kMiddle), Learnt::wish_for(kMiddle + 1));
}

// Of messages that follow each other, how many of `count` stream where a byte takes so many ticks by each way.
int streamed(Learnt& learnt, int count, double reading, double ring, int64_t bytes) {
  int streams = 0;
  uint64_t now = 1000;
  for (int i = 0; i < count; ++i) {
    const uint64_t fetched = now;  // before the one before it is here
    if (learnt.streams(bytes)) {
      ++streams;
      now += static_cast<uint64_t>(ring * static_cast<double>(bytes));
      learnt.run_was_streamed(fetched, now, bytes);
    } else {
      const auto ticks = static_cast<uint64_t>(reading * static_cast<double>(bytes));
      now += ticks;
      learnt.run_was_read(ticks, bytes);
    }
  }
  return streams;
}

TEST(LearntTest, LongMessagesThatFollowEachOtherComeBySoonerWay) {
  for (const int64_t bytes : {64 << 10, 512 << 10, 4 << 20}) {
    Learnt by_reading(0.5, kNewMemory);
    EXPECT_LT(streamed(by_reading, 1000, 0.1, 0.2, bytes), 40) << "until the first try, and now and then";
    Learnt by_ring(0.5, kNewMemory);
    EXPECT_GT(streamed(by_ring, 1000, 0.2, 0.1, bytes), 980);
    Learnt alike(0.5, kNewMemory);
    EXPECT_GT(streamed(alike, 1000, 0.1, 0.102, bytes), 980) << "a gain that is too small changes nothing";
    // What it costs changes, as where the program sends fresh data from now on.
    EXPECT_GT(streamed(by_reading, 2000, 0.3, 0.2, bytes), 1200);
  }
}

TEST(LearntTest, AMessageThatIsFetchedLateTeachesNothing) {
  Learnt learnt(0.5, kNewMemory);
  uint64_t now = 1000;
  for (int i = 0; i < 2000; ++i) {
    now += 1000;  // nothing was under way
    if (learnt.streams(kMiddle))
      learnt.run_was_streamed(now, now + 100, kMiddle);
    else
      learnt.run_was_read(1, kMiddle);
    now += 100;
  }
  EXPECT_TRUE(learnt.streams(kMiddle));
}

// ---- by process

TEST(ByProcessTest, HoldsThoseThatWereAdded) {
  std::mt19937 random(7);
  for (const int stride : {1, 2, 64, 4096, 1 << 20}) {
    ByProcess<int> table;
    std::map<int, int> same;
    for (int i = 0; i < 2000; ++i) {
      const int process = static_cast<int>(random() % 1500 * static_cast<unsigned>(stride) % 0x7fffffff);
      table.set(process, i);
      same[process] = i;
      const int other = static_cast<int>(random() % 3000 * static_cast<unsigned>(stride) % 0x7fffffff);
      const int* const found = table.find(other);
      const auto at = same.find(other);
      ASSERT_EQ(found != nullptr, at != same.end()) << other;
      if (found) {
        ASSERT_EQ(*found, at->second);
      }
    }
    EXPECT_EQ(table.size(), same.size());
    std::map<int, int> seen;
    table.each([&](int process, int value) { EXPECT_TRUE(seen.emplace(process, value).second); });
    EXPECT_EQ(seen, same) << "stride " << stride;
  }
}

}  // namespace
}  // namespace tutti::transport
