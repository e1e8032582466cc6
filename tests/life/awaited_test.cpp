// SPDX-License-Identifier: BSD-3-Clause
// Whom a condition names.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "life/blocked.hpp"

namespace tutti::life {
namespace {

constexpr int kSelf = 2;
constexpr uint64_t kContext = 9;

using Ranks = std::vector<int>;

Awaited whom(const Condition& needs, const UnderWay* under_way = nullptr) {
  return awaited(needs, kSelf, under_way);
}

// A collective of this process that needs these calls of others.
struct Collective : UnderWay {
  Collective(uint32_t number, std::vector<Actor> actors) : actors(std::move(actors)) {
    context = kContext;
    serial = number;
    explain = [](const UnderWay& self, Condition& needs) {
      for (const Actor& actor : static_cast<const Collective&>(self).actors)
        needs.collective(actor.process, actor.context, actor.serial);
    };
  }
  std::vector<Actor> actors;
};

TEST(Awaited, WhoIsNeededByAllOfACall) {
  const Awaited all = whom(Condition().process(5).all().process(1).process(5).end());
  EXPECT_EQ(all.processes, (Ranks{1, 5}));
  EXPECT_FALSE(all.some);
}

TEST(Awaited, OneOfSeveralMayDo) {
  const Awaited any = whom(Condition().any().process(4).process(3).end());
  EXPECT_EQ(any.processes, (Ranks{3, 4}));
  EXPECT_TRUE(any.some);
  EXPECT_FALSE(whom(Condition().any().process(4).end()).some);
  EXPECT_TRUE(whom(Condition().process(1).any().all().process(3).process(4).end().process(5).end()).some);
  EXPECT_FALSE(whom(Condition().any().all().process(3).process(4).end().end()).some);
}

TEST(Awaited, NobodyIsNamedWhereNobodyIsKnown) {
  EXPECT_TRUE(whom(Condition()).processes.empty());
  EXPECT_TRUE(whom(Condition().always().never()).processes.empty());
  Blocked blocked;
  Condition needs;
  blocked.add_needs(needs);
  EXPECT_TRUE(whom(needs).processes.empty());
}

TEST(Awaited, OneselfOnlyWhereThereIsNobodyElse) {
  EXPECT_EQ(whom(Condition().any().process(1).process(kSelf).end()).processes, Ranks{1});
  EXPECT_EQ(whom(Condition().process(kSelf)).processes, Ranks{kSelf});
}

TEST(Awaited, ACollectiveOfOnesOwnIsAskedInTurn) {
  Collective second(2, {{kSelf, kContext, 1}}), first(1, {{0, kContext, 1}, {4, kContext, 1}});
  second.next = &first;
  EXPECT_EQ(whom(Condition().collective(kSelf, kContext, 2), &second).processes, (Ranks{0, 4}));
  // Of one that is not under way here a thread of this process has to make the call.
  EXPECT_EQ(whom(Condition().collective(kSelf, kContext, 3), &second).processes, Ranks{kSelf});
}

TEST(Awaited, CollectivesThatNeedEachOtherAreAskedOnce) {
  Collective one(1, {{kSelf, kContext, 2}, {7, kContext, 1}}), two(2, {{kSelf, kContext, 1}});
  one.next = &two;
  EXPECT_EQ(whom(Condition().collective(kSelf, kContext, 1), &one).processes, Ranks{7});
}

// As many as a program may have under way: to look through all of them for each would take minutes.
TEST(Awaited, OfVeryManyTheFirstAreAsked) {
  constexpr uint32_t kMany = 200'000;
  std::vector<Collective> calls;
  calls.reserve(kMany);
  Condition all;
  all.all();
  for (uint32_t serial = 0; serial < kMany; ++serial) {
    calls.push_back(Collective(serial, {{serial < 500 ? 3 : 4, kContext, serial}}));
    all.collective(kSelf, kContext, serial);
    if (serial > 0) calls[serial].next = &calls[serial - 1];
  }
  all.end();
  EXPECT_EQ(whom(all, &calls.back()).processes, (Ranks{3, 4}));
}

}  // namespace
}  // namespace tutti::life
