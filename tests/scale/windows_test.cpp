// SPDX-License-Identifier: BSD-3-Clause
// What the synchronisation of windows takes of a job of many ranks: messages by what a rank does, and not by how many others
// there are; of one rank at whose memory all are, so many as these; and whoever waits hears of whom in bounded length. All of it
// is the same on each run.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "../base/allocated.hpp"
#include "windows_net.hpp"

namespace tutti::scale {
namespace {

struct Outcome {
  WindowLoad busiest, other;  // the rank at whose memory all are, and one in the middle
  uint64_t messages = 0;
  double seconds = 0;
  int64_t bytes = 0;  // allocated by the sides for each rank, when all is over
};

Outcome outcome_of(int ranks, const std::string& name) {
  for (const WindowCase& each : window_cases()) {
    if (name != each.name) continue;
    const Allocated allocated;
    WindowsNet net(ranks);
    int done = 0;
    each.begin(net, done);
    net.run();
    EXPECT_EQ(done, ranks) << name;
    return {net.loads[0], net.loads[static_cast<size_t>(ranks / 2)], net.messages(), net.now() / 1e6,
            allocated.bytes() / ranks};
  }
  ADD_FAILURE() << "there is no case '" << name << "'";
  return {};
}

void expect_bounds(int ranks) {
  SCOPED_TRACE(ranks);
  const auto many = static_cast<uint64_t>(ranks);
  const double message = ranks * WindowsNet::kOverhead / 1e6;  // one of each, at one core
  constexpr uint64_t kTold = rma::LockLine::kFirst + 2;        // so often one hears for whom it waits

  Outcome all = outcome_of(ranks, "lock_all, unlock_all");
  EXPECT_EQ(all.messages, 0u);

  for (const char* const name : {"lock_all, all update one", "lock alone, all update one"}) {
    all = outcome_of(ranks, name);
    EXPECT_EQ(all.messages, 2 * many) << name;
    EXPECT_EQ(all.other.messages, 2u) << name;
    EXPECT_LE(all.seconds, 1 + 3 * message) << name;  // when it is over the clock of questions runs on
    EXPECT_LE(all.bytes, 2000) << name;
  }
  // Each asks once for whom it waits, and hears it; of the first ones it is told again when the lock moves.
  for (const char* const name :
       {"the same, behind one that has it for 3 s", "shared by all, behind one that has it for 3 s"}) {
    all = outcome_of(ranks, name);
    EXPECT_LE(all.other.messages, 3 + kTold) << name;
    EXPECT_LE(all.busiest.told, kTold * many) << name;
    EXPECT_LE(all.busiest.longest, rma::LockLine::kMostTold) << name;
    EXPECT_LE(all.seconds, 4 + (3 + kTold) * message) << name;
  }
  all = outcome_of(ranks, "100 have it alone for 50 ms each, the others wait");
  EXPECT_LE(all.other.messages, 3 + kTold);
  EXPECT_LE(all.busiest.longest, rma::LockLine::kMostTold);

  all = outcome_of(ranks, "post, start, complete, wait: 6 neighbours");
  EXPECT_EQ(all.messages, 12 * many);
  EXPECT_EQ(all.other.messages, 24u);
  EXPECT_LE(all.bytes, 6000);
}

TEST(Windows, TakeMessagesByWhatARankDoes) {
  expect_bounds(1'000);
  expect_bounds(10'240);
}

TEST(Windows, TakeTheSameOfAMillion) {
  if (!std::getenv("TUTTI_TEST_MILLION")) GTEST_SKIP() << "the long tier has it";
  expect_bounds(1'000'000);
}

}  // namespace
}  // namespace tutti::scale
