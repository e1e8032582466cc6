// SPDX-License-Identifier: BSD-3-Clause
// How the ranks of a node part, as threads.
#include "transport/shared/parting.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tutti::transport {
namespace {

TEST(PartingTest, NobodyGoesBeforeAllHaveCome) {
  constexpr int kRounds = 300;
  constexpr uint32_t kMembers = 5;
  std::vector<Parting> partings(kRounds);
  std::vector<int> notes(kMembers * kRounds);  // written before, read behind
  std::atomic<int> missed{0};
  std::vector<std::thread> members;
  for (uint32_t me = 0; me < kMembers; ++me)
    members.emplace_back([&, me] {
      for (int round = 0; round < kRounds; ++round) {
        int* const all = &notes[static_cast<size_t>(round) * kMembers];
        all[me] = 1;
        partings[static_cast<size_t>(round)].await(kMembers);
        for (uint32_t other = 0; other < kMembers; ++other) missed += 1 - all[other];
      }
    });
  for (std::thread& member : members) member.join();
  EXPECT_EQ(missed, 0);
}

TEST(PartingTest, WhoeverDoesNotComeIsNotWaitedForForEver) {
  Parting parting;
  const auto begin = std::chrono::steady_clock::now();
  parting.await(2, std::chrono::milliseconds(20));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(20));
  parting.await(2);  // the one that comes late finds the other there
}

}  // namespace
}  // namespace tutti::transport
