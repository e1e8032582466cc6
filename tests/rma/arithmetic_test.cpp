// SPDX-License-Identifier: BSD-3-Clause
// What updates do to memory, and what they say was there before.
#include "rma/arithmetic.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/layout.hpp"
#include "memory/movers.hpp"

namespace {

using namespace tutti;
using rma::carry_out;
using rma::kCompareAndSwap;
using rma::kNoOp;
using rma::kReplace;

constexpr uint8_t kSum = 1;

const rma::Arithmetic kSums{[](uint8_t, uint8_t, const void* in, void* inout, int64_t count) {
                              for (int64_t i = 0; i < count; ++i)
                                static_cast<int32_t*>(inout)[i] += static_cast<const int32_t*>(in)[i];
                            },
                            [](uint8_t) -> const Layout& {
                              static const LayoutRef number = Layout::dense(4, 4);
                              return *number;
                            }};

const std::byte* bytes_of(const int32_t* numbers) {
  return reinterpret_cast<const std::byte*>(numbers);
}

TEST(CarryOut, fetches_what_was_there_and_folds) {
  std::array<int32_t, 3> memory{1, 2, 3};
  const std::array<int32_t, 2> data{10, 20};
  std::array<int32_t, 2> old{};
  const Payload target{memory.data(), 12, &Layout::bytes()};
  auto* const into = reinterpret_cast<std::byte*>(old.data());
  carry_out(kSums, {kSum, 0}, target, 4, bytes_of(data.data()), 8, into);
  EXPECT_EQ(memory, (std::array{1, 12, 23}));
  EXPECT_EQ(old, (std::array{2, 3}));
  carry_out(kSums, {kReplace, 0}, target, 0, bytes_of(data.data()), 8, into);
  EXPECT_EQ(memory, (std::array{10, 20, 23}));
  EXPECT_EQ(old, (std::array{1, 12}));
  carry_out(kSums, {kNoOp, 0}, target, 4, nullptr, 8, into);
  EXPECT_EQ(memory, (std::array{10, 20, 23}));
  EXPECT_EQ(old, (std::array{20, 23}));
  carry_out(kSums, {kSum, 0}, target, 8, bytes_of(data.data()), 4, nullptr);
  EXPECT_EQ(memory, (std::array{10, 20, 33}));
}

TEST(CarryOut, swaps_what_compares_equal) {
  int32_t memory = 5, old = 0;
  const Payload target{&memory, 4, &Layout::bytes()};
  auto* const into = reinterpret_cast<std::byte*>(&old);
  const std::array<int32_t, 2> wrong{4, 9}, right{5, 7};  // to compare with, and to put in its place
  carry_out(kSums, {kCompareAndSwap, 0}, target, 0, bytes_of(wrong.data()), 4, into);
  EXPECT_EQ(memory, 5);
  EXPECT_EQ(old, 5);
  old = 0;
  carry_out(kSums, {kCompareAndSwap, 0}, target, 0, bytes_of(right.data()), 4, into);
  EXPECT_EQ(memory, 7);
  EXPECT_EQ(old, 5);
}

// More than is folded at a time, with gaps, from somewhere in the middle, and on no boundary.
TEST(CarryOut, takes_any_layout_and_part) {
  const LayoutRef pair = Layout::repeat(Layout::dense(4, 4), 2, 12);
  std::vector<std::byte> memory(40'001);
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i % 7);
  const std::vector<std::byte> before = memory;
  const Payload target{memory.data() + 1, 1500, pair.get()};
  ASSERT_LE(1 + 1499 * pair->extent() + pair->true_extent(), static_cast<int64_t>(memory.size()));
  std::vector<int32_t> data(2500), was(2500), old(2500), is(2500);
  std::iota(data.begin(), data.end(), 1000);
  const int64_t bytes = 10'000;
  memory::pack(target, 16, reinterpret_cast<std::byte*>(was.data()), bytes);
  carry_out(kSums, {kSum, 0}, target, 16, bytes_of(data.data()), bytes, reinterpret_cast<std::byte*>(old.data()));
  memory::pack(target, 16, reinterpret_cast<std::byte*>(is.data()), bytes);
  EXPECT_EQ(old, was);
  for (size_t i = 0; i < is.size(); ++i) ASSERT_EQ(is[i], was[i] + data[i]) << i;
  // Nothing else has changed.
  memory::unpack(target, 16, reinterpret_cast<const std::byte*>(was.data()), bytes);
  EXPECT_EQ(memory, before);
}

// Under stripes it does the same: in one run, with elements that reach over the end of a stripe, and with gaps.
TEST(CarryOut, does_the_same_under_stripes) {
  constexpr int kNumbers = 5000;
  alignas(64) static std::byte zero[sizeof(rma::Stripes)]{};
  rma::Stripes& stripes = *reinterpret_cast<rma::Stripes*>(zero);
  std::vector<int32_t> data(kNumbers);
  std::iota(data.begin(), data.end(), 1);
  for (const int64_t shift : {0, 2}) {  // at 2 some elements lie in two stripes
    std::vector<std::byte> memory(kNumbers * 4 + 8), expected = memory;
    std::vector<int32_t> old(kNumbers, -1);
    for (int round = 0; round < 2; ++round) {
      const Payload there{memory.data() + shift, kNumbers * 4, &Layout::bytes()};
      carry_out(kSums, {kSum, 0}, there, 0, bytes_of(data.data()), kNumbers * 4,
                reinterpret_cast<std::byte*>(old.data()), {&stripes, memory.data()});
      carry_out(kSums, {kSum, 0}, {expected.data() + shift, kNumbers * 4, &Layout::bytes()}, 0, bytes_of(data.data()),
                kNumbers * 4, nullptr);
    }
    EXPECT_EQ(memory, expected);
    EXPECT_EQ(old, data);
  }
  const LayoutRef gaps = Layout::repeat(Layout::dense(4, 4), kNumbers / 2, 8);
  std::vector<int32_t> memory(kNumbers), old(kNumbers / 2, -1);
  carry_out(kSums, {kSum, 0}, {memory.data(), 1, gaps.get()}, 0, bytes_of(data.data()), kNumbers * 2,
            reinterpret_cast<std::byte*>(old.data()), {&stripes, reinterpret_cast<std::byte*>(memory.data())});
  for (int i = 0; i < kNumbers; ++i) EXPECT_EQ(memory[static_cast<size_t>(i)], i % 2 == 0 ? i / 2 + 1 : 0);
  EXPECT_EQ(old, std::vector<int32_t>(kNumbers / 2, 0));
}

}  // namespace
