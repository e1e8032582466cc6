// SPDX-License-Identifier: BSD-3-Clause
// The buffers that operations use (mpi/check/outstanding.hpp): what is refused is what a list of all of them refuses,
// and what is only read may be in use by many.
#include "mpi/check/outstanding.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace tutti::mpi {
namespace {

std::byte memory[1000];

const void* operation(size_t number) {
  return reinterpret_cast<const void*>(number);
}
BufferUse use_of(int begin, int bytes, bool writes) {
  return {.payload = {memory + begin, bytes, &Layout::bytes()}, .writes = writes};
}

TEST(Outstanding, RefusesWhatSharesBytesWithAWriter) {
  struct Known {
    int begin, end;
    bool writes;
    size_t number;
  };
  std::mt19937 random(1);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  Outstanding books;
  std::vector<Known> known;
  for (size_t number = 1; number < 20'000; ++number) {
    if (known.size() > 30 || (!known.empty() && below(3) == 0)) {
      const auto at = known.begin() + below(static_cast<int>(known.size()));
      books.drop(operation(at->number));
      known.erase(at);
    }
    const int begin = below(900), bytes = 1 + (below(5) ? below(8) : below(99));
    const Known mine{begin, begin + bytes, below(3) == 0, number};
    const bool refused = std::ranges::any_of(
        known, [&](const Known& k) { return k.begin < mine.end && mine.begin < k.end && (k.writes || mine.writes); });
    const BufferUse use = use_of(begin, bytes, mine.writes);
    ASSERT_EQ(static_cast<bool>(books.take(operation(number), {&use, 1})), refused) << number;
    if (!refused) known.push_back(mine);
    ASSERT_EQ(books.count(), known.size());
  }
}

TEST(Outstanding, ManyReadOneBuffer) {
  constexpr size_t kMany = 100'000;  // each looked at by each other one would take minutes
  Outstanding books;
  const BufferUse read = use_of(10, 4, false), written = use_of(13, 1, true);
  for (size_t number = 1; number <= kMany; ++number) ASSERT_FALSE(books.take(operation(number), {&read, 1}));
  EXPECT_TRUE(books.take(operation(kMany + 1), {&written, 1}));
  for (size_t number = 1; number <= kMany; ++number) books.drop(operation(number));
  EXPECT_FALSE(books.take(operation(kMany + 1), {&written, 1}));
  EXPECT_EQ(books.count(), 1U);
}

}  // namespace
}  // namespace tutti::mpi
