// SPDX-License-Identifier: BSD-3-Clause
// Objects whose memory a thread keeps for the next ones: how much it keeps, and that nothing is left of it when the thread ends,
// also where objects are deleted while it ends.
#include "base/pooled.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <memory>
#include <thread>
#include <vector>

using namespace tutti;

namespace {

constexpr int kMost = 8;

struct Small final : Pooled<Small, kMost> {
  char bytes[100];
};
struct Large final : Pooled<Large, kMost> {
  char bytes[5000];
};

void in_thread(void (*what)()) {
  std::thread(what).join();
}

template <class T>
void makes_and_deletes(int count) {
  std::vector<std::unique_ptr<T>> all;
  for (int i = 0; i < count; ++i) all.push_back(std::make_unique<T>());
}

}  // namespace

TEST(Pooled, GivesTheSameMemoryAgain) {
  in_thread([] {
    const void* const first = std::make_unique<Small>().get();
    EXPECT_EQ(std::make_unique<Small>().get(), first);
  });
}

TEST(Pooled, KeepsSoManyAndTellsHowMuch) {
  in_thread([] {
    EXPECT_EQ(PoolsHere::idle_bytes(), 0u);
    makes_and_deletes<Small>(100);
    EXPECT_EQ(PoolsHere::idle_bytes(), kMost * sizeof(Small));
    makes_and_deletes<Large>(3);
    EXPECT_EQ(PoolsHere::idle_bytes(), kMost * sizeof(Small) + 3 * sizeof(Large));
    makes_and_deletes<Small>(kMost / 2);
    EXPECT_EQ(PoolsHere::idle_bytes(), kMost * sizeof(Small) + 3 * sizeof(Large));
  });
}

TEST(Pooled, TakesWhatAnotherThreadHasMade) {
  in_thread([] {
    auto made = std::make_unique<Large>();
    std::thread([&made] {
      made.reset();
      EXPECT_EQ(PoolsHere::idle_bytes(), sizeof(Large));
    }).join();
    EXPECT_EQ(PoolsHere::idle_bytes(), 0u);
  });
}

// Under the address sanitizer it is that which finds what is lost.
TEST(Pooled, LeavesNothingWhenItsThreadEnds) {
  const auto threads = [] {
    for (int i = 0; i < 100; ++i)
      in_thread([] {
        static thread_local std::unique_ptr<Small> kept;  // ends behind the pools, which it is older than
        static thread_local std::vector<std::unique_ptr<Large>> others;
        kept = std::make_unique<Small>();
        for (int k = 0; k < kMost; ++k) others.push_back(std::make_unique<Large>());
        makes_and_deletes<Small>(kMost);
      });
  };
  threads();  // what the C library keeps for threads
  const size_t before = ::mallinfo2().uordblks;
  threads();
  EXPECT_LT(::mallinfo2().uordblks, before + 5000);
}
