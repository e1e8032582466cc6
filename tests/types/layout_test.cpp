// SPDX-License-Identifier: BSD-3-Clause
// Layouts against a naive expansion of the type map: random nests of every constructor, packed
// and unpacked in random pieces.
#include "base/layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <random>

#include "memory/movers.hpp"

namespace tutti {
namespace {

// A type map byte by byte, with the bounds computed straight from the standard's definitions.
struct Naive {
  std::vector<int64_t> map;  // displacement of each byte of data, in type-map order
  std::optional<int64_t> set_low, set_high;
  std::optional<int64_t> parts_low, parts_high;  // of the extents of the types that it is made of
  int64_t alignment = 1;

  int64_t true_low() const { return map.empty() ? 0 : *std::min_element(map.begin(), map.end()); }
  int64_t true_high() const { return map.empty() ? 0 : *std::max_element(map.begin(), map.end()) + 1; }
  int64_t low() const { return set_low ? *set_low : true_low(); }
  int64_t extent() const {
    if (set_low) return *set_high - *set_low;
    const int64_t length = parts_low ? *parts_high - *parts_low : true_high() - true_low();
    return (length + alignment - 1) / alignment * alignment;
  }
  void add(const Naive& element, int64_t displacement) {
    const int64_t new_low = element.low() + displacement, new_high = new_low + element.extent();
    const auto widen = [&](std::optional<int64_t>& low, std::optional<int64_t>& high) {
      low = low ? std::min(*low, new_low) : new_low;
      high = high ? std::max(*high, new_high) : new_high;
    };
    for (int64_t byte : element.map) map.push_back(byte + displacement);
    if (!element.map.empty()) {
      alignment = std::max(alignment, element.alignment);
      widen(parts_low, parts_high);
    }
    if (element.set_low) widen(set_low, set_high);
  }
};

struct Both {
  LayoutRef layout;
  Naive naive;
};

class Maker {
 public:
  explicit Maker(unsigned seed) : random_(seed) {}

  int64_t number(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }

  Both basic() {
    static constexpr int64_t sizes[] = {1, 2, 4, 8, 16, 3};
    const int64_t size = sizes[number(0, 5)];
    Both made{Layout::dense(size, size == 3 ? 1 : size), {}};
    for (int64_t i = 0; i < size; i++) made.naive.map.push_back(i);
    if (size != 3) made.naive.alignment = size;
    return made;
  }

  Both any(int depth) {
    if (depth == 0) return basic();
    Both made;
    do {
      switch (number(0, 3)) {
        case 0:
          made = repeated(depth, false);
          break;
        case 1:
          made = repeated(depth, true);
          break;
        case 2:
          made = sequence(depth);
          break;
        default:
          made = resized(depth);
          break;
      }
    } while (made.naive.map.size() > 3000);
    return made;
  }

 private:
  Both repeated(int depth, bool with_stride) {
    const Both element = any(depth - 1);
    const int64_t count = number(0, 5);
    int64_t stride = element.layout->extent();
    if (with_stride && number(0, 2) > 0) stride = number(-40, 40);
    if (with_stride && number(0, 3) == 0) stride = element.layout->size();
    Both made{Layout::repeat(element.layout, count, stride), {}};
    for (int64_t i = 0; i < count; i++) made.naive.add(element.naive, i * stride);
    return made;
  }

  Both sequence(int depth) {
    const int64_t length = number(0, 6);
    std::vector<LayoutRef> elements;
    std::vector<int64_t> counts, displacements;
    Naive naive;
    const bool same = number(0, 1) == 0, regular = number(0, 1) == 0;
    Both element = any(depth - 1);
    const int64_t step = number(0, 1) == 0 ? element.layout->size() : number(-30, 30);
    for (int64_t i = 0; i < length; i++) {
      if (!same) element = any(depth - 1);
      elements.push_back(element.layout);
      counts.push_back(regular ? 1 : number(0, 3));
      displacements.push_back(regular ? i * step : number(-60, 60));
      for (int64_t j = 0; j < counts.back(); j++)
        naive.add(element.naive, displacements.back() + j * element.layout->extent());
    }
    return {Layout::sequence(elements, counts, displacements), naive};
  }

  Both resized(int depth) {
    Both made = any(depth - 1);
    const int64_t low = number(-20, 20);
    const int64_t extent = number(0, 3) == 0 ? made.layout->size() : number(-10, 60);
    made.layout = Layout::resized(made.layout, low, extent);
    made.naive.set_low = low;
    made.naive.set_high = low + extent;
    return made;
  }

  std::mt19937 random_;
};

// Memory around an origin, large enough for `count` elements in both directions.
struct Arena {
  Arena(const Both& type, int64_t count) {
    int64_t low = 0, high = 1;
    for (int64_t i = 0; i < count; i++) {
      low = std::min(low, type.naive.true_low() + i * type.naive.extent());
      high = std::max(high, type.naive.true_high() + i * type.naive.extent());
    }
    bytes.resize(static_cast<size_t>(high - low));
    origin = -low;
  }
  std::byte* base() { return bytes.data() + origin; }
  std::vector<std::byte> bytes;
  int64_t origin = 0;
};

std::vector<int64_t> expand(const Naive& naive, int64_t count) {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < count; i++)
    for (int64_t byte : naive.map) all.push_back(byte + i * naive.extent());
  return all;
}

void check_bounds(const Both& type) {
  EXPECT_EQ(type.layout->size(), static_cast<int64_t>(type.naive.map.size()));
  EXPECT_EQ(type.layout->lower_bound(), type.naive.low());
  EXPECT_EQ(type.layout->extent(), type.naive.extent());
  EXPECT_EQ(type.layout->true_lower_bound(), type.naive.true_low());
  EXPECT_EQ(type.layout->true_extent(), type.naive.true_high() - type.naive.true_low());
}

// The flags promise what a memcpy needs.
void check_flags(const Both& type) {
  auto is_run = [](const std::vector<int64_t>& map) {
    for (size_t i = 1; i < map.size(); i++)
      if (map[i] != map[0] + static_cast<int64_t>(i)) return false;
    return true;
  };
  EXPECT_EQ(type.layout->is_one_run(), is_run(type.naive.map));
  EXPECT_EQ(type.layout->is_dense(), is_run(expand(type.naive, 2)));
}

void check_pack(const Both& type, int64_t count, Maker& random) {
  Arena arena(type, count);
  for (std::byte& byte : arena.bytes) byte = static_cast<std::byte>(random.number(0, 255));
  const std::vector<int64_t> map = expand(type.naive, count);
  const auto total = static_cast<int64_t>(map.size());
  for (int64_t offset = 0; offset < total;) {
    const int64_t length = random.number(0, 3) == 0 ? total : random.number(0, std::min<int64_t>(total, 50));
    const int64_t real = std::min(length, total - offset);
    std::vector<std::byte> out(static_cast<size_t>(real));
    type.layout->pack(arena.base(), count, offset, out.data(), length);
    for (int64_t i = 0; i < real; i++)
      ASSERT_EQ(out[i], arena.base()[map[offset + i]]) << "byte " << i << " from " << offset;
    offset += real;
  }
}

void check_unpack(const Both& type, int64_t count, Maker& random) {
  Arena arena(type, count), expected(type, count);
  const std::vector<int64_t> map = expand(type.naive, count);
  std::vector<std::byte> packed(map.size());
  for (size_t i = 0; i < map.size(); i++) {
    packed[i] = static_cast<std::byte>(random.number(0, 255));
    expected.base()[map[i]] = packed[i];
  }
  const auto total = static_cast<int64_t>(map.size());
  for (int64_t offset = 0; offset < total;) {
    const int64_t length = random.number(0, 4) == 0 ? total - offset : random.number(0, 50);
    const int64_t real = std::min(length, total - offset);
    type.layout->unpack(arena.base(), count, offset, packed.data() + offset, real);
    offset += real;
  }
  EXPECT_EQ(arena.bytes, expected.bytes);
}

// Any packed bytes of the elements, as one element: it touches these and no others.
void check_range(const Both& type, int64_t count, Maker& random) {
  const std::vector<int64_t> map = expand(type.naive, count);
  const auto total = static_cast<int64_t>(map.size());
  const int64_t from = random.number(0, total), length = random.number(0, total - from);
  const LayoutRef range = Layout::range(*type.layout, count, from, length);
  EXPECT_EQ(range->size(), length);
  EXPECT_FALSE((Payload{nullptr, 1, range.get()}.contiguous()));
  Arena arena(type, count), expected(type, count);
  std::vector<std::byte> packed(static_cast<size_t>(length)), again(packed);
  for (int64_t i = 0; i < length; i++) {
    packed[static_cast<size_t>(i)] = static_cast<std::byte>(random.number(1, 255));
    expected.base()[map[from + i]] = packed[static_cast<size_t>(i)];
  }
  for (int64_t at = 0; at < length;) {
    const int64_t piece = random.number(1, random.number(0, 3) == 0 ? length : 20);
    range->unpack(arena.base(), 1, at, packed.data() + at, std::min(piece, length - at));
    at += piece;
  }
  EXPECT_EQ(arena.bytes, expected.bytes);
  for (int64_t at = 0; at < length;) {
    const int64_t piece = random.number(1, random.number(0, 3) == 0 ? length : 20);
    range->pack(arena.base(), 1, at, again.data() + at, piece);  // what lies past it is left alone
    at += piece;
  }
  for (int64_t i = 0; i < length; i++)
    ASSERT_EQ(again[static_cast<size_t>(i)], arena.base()[map[from + i]]) << "byte " << i;
}

TEST(Layout, RandomNestsAgreeWithTheTypeMap) {
  for (unsigned seed = 0; seed < 3000; seed++) {
    SCOPED_TRACE(seed);
    Maker random(seed);
    const Both type = random.any(static_cast<int>(random.number(0, 4)));
    check_bounds(type);
    check_flags(type);
    const int64_t count = random.number(0, 6);
    check_pack(type, count, random);
    check_unpack(type, count, random);
    check_range(type, count, random);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Layout, CopiesBetweenAnyTwoShapes) {
  for (unsigned seed = 0; seed < 600; seed++) {
    SCOPED_TRACE(seed);
    Maker random(seed);
    const Both from = random.any(3), to = random.any(3);
    const int64_t from_count = random.number(0, 40), to_count = random.number(0, 40);
    Arena source(from, from_count), target(to, to_count), expected(to, to_count);
    for (std::byte& byte : source.bytes) byte = static_cast<std::byte>(random.number(1, 255));
    const auto from_map = expand(from.naive, from_count), to_map = expand(to.naive, to_count);
    for (size_t i = 0; i < std::min(from_map.size(), to_map.size()); i++)
      expected.base()[to_map[i]] = source.base()[from_map[i]];
    memory::copy({source.base(), from_count, from.layout.get()}, {target.base(), to_count, to.layout.get()});
    ASSERT_EQ(target.bytes, expected.bytes);
  }
}

TEST(Layout, JoinsWhatIsAdjacent) {
  const LayoutRef number = Layout::dense(4, 4);
  const LayoutRef ten = Layout::repeat(number, 10, 4);
  EXPECT_TRUE(ten->is_dense());
  EXPECT_TRUE(Layout::repeat(ten, 1000, 40)->is_dense());
  const LayoutRef blocks = Layout::sequence({number, ten, number}, {2, 1, 3}, {0, 8, 48});
  EXPECT_TRUE(blocks->is_dense());
  EXPECT_EQ(blocks->size(), 60);
  // A run behind a gap, then a type whose gap is filled by the next part.
  const LayoutRef late = Layout::sequence({number}, {3}, {100});
  EXPECT_TRUE(late->is_one_run());
  EXPECT_TRUE(late->is_dense());
  EXPECT_EQ(late->lower_bound(), 100);
  EXPECT_FALSE(Layout::sequence({number, number}, {1, 1}, {4, 0})->is_one_run());
}

TEST(Layout, ExtentIsRoundedUpToTheAlignmentOfTheData) {
  const LayoutRef wide = Layout::dense(8, 8), byte = Layout::dense(1);
  const LayoutRef both = Layout::sequence({wide, byte}, {1, 1}, {0, 8});
  EXPECT_EQ(both->extent(), 16);
  EXPECT_EQ(both->true_extent(), 9);
  EXPECT_EQ(Layout::resized(both, 0, 9)->extent(), 9);
}

// The standard's epsilon (5.1.6) rounds an extent up to the alignment of the data, so that the next element of an array
// is aligned like the first. It speaks of basic types. A part that has got an epsilon of its own takes its extent: parts
// in a row are that far apart, and whoever takes a type for a sequence of its parts, as C and numpy do with structs,
// must find the last one inside. So the epsilon of the whole is added behind the extents of its parts. What is at
// aligned places has the same extent either way; at odd ones MPICH, which pads structs alone, gives 66 and 463, and Open
// MPI what stands here.
TEST(Layout, ExtentHoldsTheExtentsOfThePartsAtOddPlaces) {
  const LayoutRef number = Layout::dense(4, 4);
  const LayoutRef part = Layout::repeat(Layout::repeat(number, 4, 4), 3, 25);
  EXPECT_EQ(part->true_extent(), 66);
  EXPECT_EQ(part->extent(), 68);
  const LayoutRef whole = Layout::repeat(Layout::repeat(part, 3, 68), 2, 4 * 68 + 1);
  EXPECT_EQ(whole->true_extent(), 475);
  EXPECT_EQ(whole->extent(), 480);  // the last part ends at 477
  EXPECT_EQ(whole->lower_bound(), 0);
  // Behind a place that is not 0, and with parts that go backwards.
  EXPECT_EQ(Layout::sequence({part, part}, {1, 1}, {7, 76})->extent(), 140);
  const LayoutRef backwards = Layout::repeat(part, 2, -69);
  EXPECT_EQ(backwards->lower_bound(), -69);
  EXPECT_EQ(backwards->extent(), 140);
  // At aligned places.
  const LayoutRef both = Layout::sequence({Layout::dense(8, 8), Layout::dense(1)}, {1, 1}, {0, 8});
  EXPECT_EQ(Layout::repeat(both, 3, 24)->extent(), 64);
}

TEST(Layout, BoundsThatWereSetAreInherited) {
  const LayoutRef padded = Layout::resized(Layout::dense(4, 4), -3, 9);
  const LayoutRef nested = Layout::sequence({padded, Layout::dense(8, 8)}, {1, 1}, {0, 20});
  EXPECT_EQ(nested->lower_bound(), -3);
  EXPECT_EQ(nested->extent(), 9);
  EXPECT_EQ(nested->true_extent(), 28);
}

TEST(Layout, RefusesWhatDoesNotFit) {
  constexpr int64_t huge = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(Layout::repeat(Layout::dense(8), huge, 8), nullptr);
  EXPECT_EQ(Layout::repeat(Layout::dense(8), 3, huge), nullptr);
  EXPECT_EQ(Layout::resized(Layout::dense(8), 0, huge), nullptr);
  const LayoutRef one = Layout::dense(1);
  EXPECT_EQ(Layout::sequence({one, one}, {1, 1}, {-huge, huge}), nullptr);
  std::vector<LayoutRef> many(9, Layout::repeat(Layout::dense(1), huge / 2, 1));
  EXPECT_EQ(Layout::sequence(many, std::vector<int64_t>(9, huge), std::vector<int64_t>(9, 0)), nullptr);
}

TEST(Layout, ManyPiecesAreFoundByOffset) {
  // A type of a million irregular blocks, packed in small pieces from its end to its start.
  constexpr int64_t blocks = 1'000'000;
  std::vector<int64_t> displacements;
  for (int64_t i = 0; i < blocks; i++) displacements.push_back(8 * i + (i * 7 % 3));
  const LayoutRef type = Layout::sequence(std::vector<LayoutRef>(blocks, Layout::dense(4)),
                                          std::vector<int64_t>(blocks, 1), displacements);
  std::vector<unsigned char> memory(8 * blocks + 8);
  for (size_t i = 0; i < memory.size(); i++) memory[i] = static_cast<unsigned char>(i * 31 >> 3);
  unsigned char out[100];
  for (int64_t offset = 4 * blocks - 100; offset >= 0; offset -= 1000) {
    type->pack(memory.data(), 1, offset, out, sizeof out);
    for (int64_t i = 0; i < 100; i++) {
      const int64_t at = offset + i;
      ASSERT_EQ(out[i], memory[displacements[at / 4] + at % 4]);
    }
  }
}

TEST(Layout, ManyStructsArePackedFieldByField) {
  constexpr int64_t count = 1000;
  const LayoutRef fields = Layout::sequence({Layout::dense(8, 8), Layout::dense(3)}, {1, 1}, {8, 1});
  Both type{Layout::resized(fields, 0, 24), {}};
  for (int64_t byte : {8, 9, 10, 11, 12, 13, 14, 15, 1, 2, 3}) type.naive.map.push_back(byte);
  type.naive.set_low = 0;
  type.naive.set_high = 24;
  Maker random(1);
  check_bounds(type);
  check_pack(type, count, random);
  check_unpack(type, count, random);
  Arena whole(type, count);
  for (size_t i = 0; i < whole.bytes.size(); i++) whole.bytes[i] = static_cast<std::byte>(i * 7 >> 2);
  std::vector<std::byte> packed(count * 11);
  type.layout->pack(whole.base(), count, 0, packed.data(), count * 11);
  const std::vector<int64_t> map = expand(type.naive, count);
  for (size_t i = 0; i < map.size(); i++) ASSERT_EQ(packed[i], whole.base()[map[i]]) << i;
}

TEST(Layout, AddressesCountFromZeroToo) {
  // MPI_BOTTOM: the base is null and the displacements are addresses.
  int values[2] = {1, 2};
  const LayoutRef type =
      Layout::sequence({Layout::dense(4), Layout::dense(4)}, {1, 1},
                       {reinterpret_cast<int64_t>(&values[1]), reinterpret_cast<int64_t>(&values[0])});
  int out[2] = {};
  type->pack(nullptr, 1, 0, out, sizeof out);
  EXPECT_EQ(out[0], 2);
  EXPECT_EQ(out[1], 1);
  const LayoutRef run = Layout::sequence({Layout::dense(4)}, {1}, {reinterpret_cast<int64_t>(values)});
  const Payload payload{nullptr, 1, run.get()};
  ASSERT_TRUE(payload.contiguous());
  EXPECT_EQ(static_cast<void*>(payload.data()), static_cast<void*>(values));
}

}  // namespace
}  // namespace tutti
