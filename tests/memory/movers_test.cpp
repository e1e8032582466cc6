// SPDX-License-Identifier: BSD-3-Clause
// The movers by table: every shape of a payload, in pieces cut anywhere, against a loop over single bytes; nothing where
// there is nothing, whatever the addresses are; and the same bytes on both sides.
#include "memory/movers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tutti::memory {
namespace {

// A layout, and the same written out: where each packed byte of one element lies.
struct Shape {
  std::string name;
  LayoutRef layout;
  std::vector<int64_t> bytes;
};

std::vector<int64_t> run(int64_t first, int64_t length) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < length; ++i) out.push_back(first + i);
  return out;
}

std::vector<Shape> shapes() {
  const LayoutRef four = Layout::dense(4), eight = Layout::dense(8);
  std::vector<Shape> out;
  out.push_back({"bytes", Layout::dense(1), {0}});
  out.push_back({"a dense run", Layout::dense(13), run(0, 13)});
  out.push_back({"a run with a gap behind it", Layout::resized(four, 0, 12), run(0, 4)});
  out.push_back({"a run that begins behind its bound", Layout::sequence({four}, {2}, {24}), run(24, 8)});
  Shape vector{"blocks with gaps", Layout::repeat(Layout::dense(3), 5, 7), {}};
  for (int64_t i = 0; i < 5; ++i)
    for (const int64_t at : run(7 * i, 3)) vector.bytes.push_back(at);
  out.push_back(vector);
  Shape backwards{
      "runs from the back to the front", Layout::sequence({four, eight, four}, {1, 1, 1}, {40, 16, -8}), {}};
  for (const auto& [first, length] : {std::pair<int64_t, int64_t>{40, 4}, {16, 8}, {-8, 4}})
    for (const int64_t at : run(first, length)) backwards.bytes.push_back(at);
  out.push_back(backwards);
  Shape nested{"elements with gaps in elements with gaps", Layout::repeat(vector.layout, 3, 64), {}};
  for (int64_t i = 0; i < 3; ++i)
    for (const int64_t at : vector.bytes) nested.bytes.push_back(64 * i + at);
  out.push_back(nested);
  out.push_back({"nothing", Layout::dense(0), {}});
  return out;
}

// So many elements in memory of their own, with room on both sides that nobody may touch.
struct Memory {
  static constexpr int64_t kRoom = 256;
  Memory(const Shape& shape, int64_t count)
      : shape(shape), count(count), bytes(static_cast<size_t>(2 * kRoom + count * (shape.layout->extent() + 192))) {}
  std::byte* base() { return bytes.data() + kRoom; }
  Payload payload() { return {base(), count, shape.layout.get()}; }
  // Packed byte `i`, by the table.
  std::byte& packed(int64_t i) {
    const auto each = static_cast<int64_t>(shape.bytes.size());
    return base()[i / each * shape.layout->extent() + shape.bytes[static_cast<size_t>(i % each)]];
  }
  void fill(unsigned from) {
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(from = from * 5 + 3);
  }
  const Shape& shape;
  int64_t count;
  std::vector<std::byte> bytes;
};

constexpr int64_t kCounts[] = {0, 1, 2, 5};

TEST(Movers, PackAndUnpackAsALoopOverBytesDoes) {
  for (const Shape& shape : shapes())
    for (const int64_t count : kCounts) {
      SCOPED_TRACE(shape.name + ", " + std::to_string(count));
      ASSERT_EQ(shape.layout->size(), static_cast<int64_t>(shape.bytes.size()));
      Memory memory(shape, count);
      memory.fill(1);
      const int64_t all = memory.payload().bytes();
      for (int64_t offset = 0; offset <= all; ++offset)
        for (int64_t length = 0; length <= all - offset + 2; ++length) {  // past the end, too: nothing is there
          const int64_t there = std::clamp<int64_t>(all - offset, 0, length);
          std::vector<std::byte> out(static_cast<size_t>(length), std::byte{0xee}), expected = out;
          for (int64_t i = 0; i < there; ++i) expected[static_cast<size_t>(i)] = memory.packed(offset + i);
          pack(memory.payload(), offset, out.data(), length);
          ASSERT_EQ(out, expected) << offset << " " << length;

          Memory to(shape, count), by_loop(shape, count);
          for (int64_t i = 0; i < there; ++i) by_loop.packed(offset + i) = static_cast<std::byte>(i + 1);
          std::vector<std::byte> in(static_cast<size_t>(length));
          for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::byte>(i + 1);
          unpack(to.payload(), offset, in.data(), length);
          ASSERT_EQ(to.bytes, by_loop.bytes) << offset << " " << length;
        }
    }
}

TEST(Movers, CopyBetweenAnyTwoShapesInPieces) {
  const std::vector<Shape> all = shapes();
  for (const Shape& one : all)
    for (const Shape& other : all)
      for (const int64_t piece : {1, 3, 64, 1000}) {
        SCOPED_TRACE(one.name + " into " + other.name);
        Memory from(one, 5), to(other, 3), by_loop(other, 3), at_once(other, 3);
        from.fill(7);
        const int64_t bytes = std::min(from.payload().bytes(), to.payload().bytes());
        for (int64_t i = 0; i < bytes; ++i) by_loop.packed(i) = from.packed(i);
        for (int64_t done = 0; done <= bytes; done += piece) copy(from.payload(), to.payload(), done, piece);
        ASSERT_EQ(to.bytes, by_loop.bytes) << piece;
        copy(from.payload(), at_once.payload());
        ASSERT_EQ(at_once.bytes, by_loop.bytes);
      }
}

// More than goes aside at a time.
TEST(Movers, CopyManyElementsWithGaps) {
  const std::vector<Shape> all = shapes();
  const Shape &vector = all[4], &backwards = all[5];
  Memory from(vector, 4000), to(backwards, 4000), by_loop(backwards, 4000);
  from.fill(3);
  const int64_t bytes = std::min(from.payload().bytes(), to.payload().bytes());
  ASSERT_GT(bytes, 40000);
  for (int64_t i = 0; i < bytes; ++i) by_loop.packed(i) = from.packed(i);
  copy(from.payload(), to.payload());
  EXPECT_EQ(to.bytes, by_loop.bytes);
}

// What a program says with a count of 0 may have any address.
TEST(Movers, NothingNeedsNoAddress) {
  const Reduction never{.apply = [](const Reduction&, const void*, const void*, void*, int64_t) { FAIL(); }};
  auto* const nowhere = reinterpret_cast<std::byte*>(uintptr_t{8});
  for (std::byte* const address : {static_cast<std::byte*>(nullptr), nowhere}) {
    memory::copy(address, address, 0);  // not std::copy
    copy_short(address, address, 0);
    reduce(never, address, address, address, 0);
    for (const Shape& shape : shapes()) {
      const Payload none{address, 0, shape.layout.get()};
      pack(none, 0, address, 0);
      pack(none, 0, address, 10);
      unpack(none, 0, address, 0);
      unpack(none, 0, address, 10);
      Memory some(shape, 2), before(shape, 2);
      copy(none, some.payload());
      copy(some.payload(), none);
      copy(some.payload(), none, 0, 10);
      EXPECT_EQ(some.bytes, before.bytes);
      pack(some.payload(), 0, address, 0);
      unpack(some.payload(), 3, address, 0);
    }
  }
}

// A sender and a receiver of one process may name one buffer, and MPI_IN_PLACE does.
TEST(Movers, TheSameBytesStayAsTheyAre) {
  for (const Shape& shape : shapes()) {
    SCOPED_TRACE(shape.name);
    Memory memory(shape, 5);
    memory.fill(9);
    const std::vector<std::byte> before = memory.bytes;
    copy(memory.payload(), memory.payload());
    EXPECT_EQ(memory.bytes, before);
  }
}

TEST(Movers, ShortCopiesOfEachLength) {
  for (size_t length = 0; length <= 80; ++length) {
    std::vector<std::byte> from(length + 2, std::byte{1}), to(length + 2, std::byte{2}), also = to, expected = to;
    for (size_t i = 0; i < length; ++i) expected[i + 1] = from[i + 1] = static_cast<std::byte>(i * 3);
    copy_short(to.data() + 1, from.data() + 1, length);
    EXPECT_EQ(to, expected) << length;
    memory::copy(also.data() + 1, from.data() + 1, static_cast<int64_t>(length));
    EXPECT_EQ(also, expected) << length;
  }
}

TEST(Movers, ReductionsMayLeaveTheirResultInTheirRightOperand) {
  const Reduction minus{.apply = [](const Reduction&, const void* left, const void* right, void* into, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      static_cast<int*>(into)[i] = static_cast<const int*>(left)[i] - static_cast<const int*>(right)[i];
  }};
  const std::vector<int> left{10, 20, 30}, right{1, 2, 3}, expected{9, 18, 27};
  std::vector<int> apart(3), in_place = right;
  reduce(minus, left.data(), right.data(), apart.data(), 3);
  EXPECT_EQ(apart, expected);
  reduce(minus, left.data(), in_place.data(), in_place.data(), 3);
  EXPECT_EQ(in_place, expected);
}

}  // namespace
}  // namespace tutti::memory
