// SPDX-License-Identifier: BSD-3-Clause
// A view's runs, places and positions against the map of each single byte.
#include "io/view.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tutti::io {
namespace {

// A layout whose displacements ascend, and where the bytes of one element lie.
struct Known {
  LayoutRef layout;
  std::vector<int64_t> bytes;
  int64_t extent() const { return layout->extent(); }
};

Known dense(int64_t size) {
  Known made{Layout::dense(size), {}};
  for (int64_t i = 0; i < size; ++i) made.bytes.push_back(i);
  return made;
}

void append(Known& to, const Known& part, int64_t count, int64_t at, int64_t stride) {
  for (int64_t i = 0; i < count; ++i)
    for (const int64_t b : part.bytes) to.bytes.push_back(at + i * stride + b);
}

Known random_layout(std::minstd_rand& chance, int depth) {
  const auto up_to = [&](int64_t n) { return static_cast<int64_t>(chance() % static_cast<unsigned>(n + 1)); };
  if (depth == 0) return dense(1 + up_to(6));
  const Known part = random_layout(chance, depth - 1);
  Known made;
  if (up_to(2) == 0) {
    const int64_t count = 1 + up_to(4), stride = part.extent() + up_to(9);
    made.layout = Layout::repeat(part.layout, count, stride);
    append(made, part, count, 0, stride);
  } else {
    std::vector<LayoutRef> elements;
    std::vector<int64_t> counts, places;
    int64_t at = up_to(5);
    for (int64_t n = 1 + up_to(3); n > 0; --n) {
      const int64_t count = up_to(3);
      elements.push_back(part.layout);
      counts.push_back(count);
      places.push_back(at);
      append(made, part, count, at, part.extent());
      at += count * part.extent() + up_to(11);
    }
    made.layout = Layout::sequence(elements, counts, places);
  }
  const int64_t end = made.layout->true_lower_bound() + made.layout->true_extent();
  made.layout = Layout::resized(made.layout, 0, std::max<int64_t>(end, made.layout->extent()) + up_to(7));
  return made;
}

class Views : public testing::Test {
 protected:
  std::minstd_rand chance_{20261126};
};

TEST_F(Views, RunsAreThoseOfTheMap) {
  for (int round = 0; round < 3000; ++round) {
    const Known known = random_layout(chance_, static_cast<int>(chance_() % 4));
    if (known.bytes.empty()) continue;
    const View view{static_cast<int64_t>(chance_() % 50), known.layout};
    const auto size = static_cast<int64_t>(known.bytes.size());
    ASSERT_EQ(size, known.layout->size());
    const auto offset = [&](int64_t p) {
      return view.displacement + p / size * known.extent() + known.bytes[static_cast<size_t>(p % size)];
    };
    const int64_t first = static_cast<int64_t>(chance_() % static_cast<unsigned>(3 * size + 1));
    const int64_t length = static_cast<int64_t>(chance_() % static_cast<unsigned>(3 * size + 1));
    int64_t next = first, end = -1;
    ASSERT_TRUE(view.each_run(first, length, [&](int64_t at, int64_t from, int64_t bytes) {
      EXPECT_GT(bytes, 0);
      EXPECT_EQ(from, next - first);
      EXPECT_NE(at, end) << "two runs that are one";
      for (int64_t i = 0; i < bytes; ++i) EXPECT_EQ(at + i, offset(next + i)) << "round " << round;
      next += bytes;
      end = at + bytes;
      return true;
    }));
    ASSERT_EQ(next, first + length);
    for (int64_t p = first; p < first + 5; ++p) ASSERT_EQ(view.offset_of(p), offset(p));
    // How many lie before a place.
    int64_t before = 0;
    const int64_t last = offset(3 * size - 1) + 3;
    for (int64_t at = 0; at < last; ++at) {
      ASSERT_EQ(view.position_at(at), before) << "round " << round << ", place " << at;
      if (at == offset(before)) ++before;
    }
  }
}

TEST_F(Views, AWalkEndsWhereItIsToldTo) {
  const View view{0, Layout::resized(Layout::dense(4), 0, 10)};
  int seen = 0;
  EXPECT_FALSE(view.each_run(2, 100, [&](int64_t, int64_t, int64_t) { return ++seen < 3; }));
  EXPECT_EQ(seen, 3);
  EXPECT_TRUE(view.each_run(0, 0, [&](int64_t, int64_t, int64_t) { return false; }));
}

// A thousand million pieces are one description, and any place in it is found at once.
TEST_F(Views, AThousandMillionPieces) {
  const LayoutRef row = Layout::resized(Layout::repeat(Layout::dense(4), 1'000'000, 12), 0, 12'000'000);
  const View view{100, Layout::repeat(row, 1000, 12'000'000)};
  const int64_t far = 3'999'999'996;
  EXPECT_EQ(view.offset_of(far), 100 + 12 * (far / 4));
  EXPECT_EQ(view.position_at(100 + 12 * (far / 4) + 1), far + 1);
  int64_t at = 0;
  view.each_run(far, 4, [&](int64_t offset, int64_t, int64_t) { return at = offset, true; });
  EXPECT_EQ(at, 100 + 12 * (far / 4));
}

}  // namespace
}  // namespace tutti::io
