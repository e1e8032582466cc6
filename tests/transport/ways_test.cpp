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
    return bytes > 8192 && all(two_cores | one_run | awake) ? Leaving::announced : Leaving::in_pieces;
  }
  return Leaving::announced;
}

Coming coming_in_words(uint32_t holds, int64_t bytes) {
  const auto all = [&](uint32_t these) { return (holds & these) == these; };
  if (!all(readable)) return Coming::sent;
  if (all(two_cores | awake | awaited | large_ring | prompt | gains)) return Coming::streamed;
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
  EXPECT_EQ(way(8192, ~0U), Leaving::in_pieces);
  EXPECT_EQ(asked, 0U);
  EXPECT_EQ(way(8193, ~two_cores), Leaving::in_pieces);
  EXPECT_EQ(asked, two_cores);
  EXPECT_EQ(way(8193, ~0U), Leaving::announced);
  EXPECT_EQ(way(64 << 10, ~0U), Leaving::announced);
  EXPECT_EQ(asked, 0U);
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

// How many messages are read before it is asked again.
int read_now(Learnt& learnt) {
  int read = 0;
  while (!learnt.is_prompt_for_one()) ++read;
  return read;
}

TEST(LearntTest, ThatAPeerLetMeWaitIsForgotten) {
  Learnt learnt(kNewMemory);
  EXPECT_TRUE(learnt.is_prompt_for_one());
  learnt.let_me_wait();
  EXPECT_EQ(learnt.hint(kMiddle), Hint::read) << "the other one shall not stream either";
  EXPECT_EQ(read_now(learnt), 8);
  EXPECT_TRUE(learnt.is_prompt());
  EXPECT_EQ(learnt.hint(kMiddle), Hint::none);
}

// It is not asked as often if it does so again and again, but where it touches the ring's memory for the first time.
TEST(LearntTest, APeerThatLetsMeWaitAgainAndAgainIsAskedSeldom) {
  Learnt learnt(kNewMemory);
  const auto let_me_wait = [&](int times) {
    for (int i = 0; i < times; ++i) {
      learnt.let_me_wait();
      if (i + 1 < times) read_now(learnt);
    }
    return read_now(learnt);
  };
  const auto streams = [&](int messages) {
    for (int i = 0; i < messages; ++i) learnt.came(CopyChoice::ring, Company::none, 0, 1'000'000, 0, kMiddle);
  };
  EXPECT_EQ(let_me_wait(20), 8);
  streams(kNewMemory / kMiddle + 1);
  EXPECT_EQ(let_me_wait(1), 8);
  EXPECT_EQ(let_me_wait(1), 16);
  EXPECT_EQ(let_me_wait(20), 1024);
  streams(1);
  EXPECT_EQ(let_me_wait(1), 512);
  streams(20);
  EXPECT_EQ(let_me_wait(1), 8);
}

// Of messages that are here one after the other, how many of `count` stream where a byte takes so many ticks by each way.
// Where they follow each other each is fetched before the one before it is here.
int streamed(Learnt& learnt, Company company, int count, double reading, double ring, int64_t bytes) {
  int streams = 0;
  uint64_t now = 1'000'000'000;
  for (int i = 0; i < count; ++i) {
    const bool through_ring = learnt.streams(company, bytes);
    const auto ticks = static_cast<uint64_t>((through_ring ? ring : reading) * static_cast<double>(bytes));
    if (company != Company::others) now += 1'000'000;  // the program does something else
    const uint64_t fetched = company == Company::others ? now - 5000 : now;
    now += ticks;
    learnt.came(through_ring ? CopyChoice::ring : CopyChoice::reading, company, fetched, now, 0, bytes);
    streams += through_ring;
  }
  return streams;
}

constexpr Company kCompanies[] = {Company::none, Company::others, Company::both_ways};
constexpr int kNewMessages = 1 + kNewMemory / kMiddle;  // that touch new memory

TEST(LearntTest, LongMessagesComeTheSoonerWay) {
  for (const Company company : kCompanies)
    for (const int64_t bytes : {64 << 10, 512 << 10, 1 << 20, 4 << 20}) {
      Learnt by_reading(kNewMemory);
      EXPECT_LT(streamed(by_reading, company, 1000, 0.1, 0.2, bytes), 60) << "until it is known, and now and then";
      Learnt by_ring(kNewMemory);
      EXPECT_GT(streamed(by_ring, company, 1000, 0.2, 0.1, bytes), 950);
      Learnt much_sooner(kNewMemory);
      streamed(much_sooner, company, 2 * CopyChoice::kRun + kNewMessages, 0.5, 0.1, bytes);
      EXPECT_EQ(streamed(much_sooner, company, 40, 0.5, 0.1, bytes), 40) << "it is known after the first few";
      // What it costs changes, as where the program sends fresh data from now on.
      EXPECT_GT(streamed(by_reading, company, 2000, 0.3, 0.2, bytes), 1200);
    }
}

// What is learnt of messages alone says nothing of those that go both ways, nor of those of another length.
TEST(LearntTest, EachKindOfMessagesIsLearntByItself) {
  Learnt learnt(kNewMemory);
  streamed(learnt, Company::none, 300, 0.5, 0.1, kMiddle);
  EXPECT_TRUE(learnt.streams(Company::none, kMiddle));
  EXPECT_TRUE(learnt.streams(Company::none, 128 << 10));
  EXPECT_FALSE(learnt.streams(Company::none, (128 << 10) + 1));
  EXPECT_FALSE(learnt.streams(Company::both_ways, kMiddle));
  EXPECT_TRUE(learnt.streams(Company::others, 1 << 20)) << "as long as nothing is known";
}

// What touches new memory is slower once.
TEST(LearntTest, NewMemoryTeachesNothing) {
  Learnt learnt(kNewMemory);
  for (int i = 0; i < kNewMessages; ++i) learnt.came(CopyChoice::ring, Company::others, 0, 1'000'000'000, 0, kMiddle);
  EXPECT_EQ(learnt.hint(kMiddle), Hint::none);
  EXPECT_GT(streamed(learnt, Company::others, 1000, 0.2, 0.1, kMiddle), 950);
}

// One of two sides tells the other by which way it goes, once it knows anything.
TEST(LearntTest, HintsAreOfMessagesBothWays) {
  Learnt learnt(kNewMemory);
  streamed(learnt, Company::none, 100, 0.5, 0.1, kMiddle);
  EXPECT_EQ(learnt.hint(kMiddle), Hint::none);
  streamed(learnt, Company::both_ways, 1, 0.5, 0.1, kMiddle);
  EXPECT_EQ(learnt.hint(kMiddle), Hint::read);
  streamed(learnt, Company::both_ways, CopyChoice::kRun, 0.5, 0.1, kMiddle);
  EXPECT_EQ(learnt.hint(kMiddle), Hint::stream);
  EXPECT_EQ(learnt.hint(1 << 20), Hint::none);
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
