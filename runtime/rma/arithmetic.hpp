// SPDX-License-Identifier: BSD-3-Clause
// What accumulate operations do to memory: only predefined operations, on elements of one
// predefined type. The loops themselves are those of the reductions, handed in from above.
#pragma once

#include <cstdint>

#include "base/layout.hpp"
#include "rma/node_words.hpp"

namespace tutti::rma {

// By the ABI's number of the operation, less that of MPI_OP_NULL, and by a number for how an
// element is represented, which this room only hands on.
struct Arithmetic {
  // inout[i] = in[i] op inout[i]; both in the form that C gives an array of them.
  void (*apply)(uint8_t operation, uint8_t element, const void* in, void* inout, int64_t count) = nullptr;
  const Layout& (*layout)(uint8_t element) = nullptr;  // of one element
};
inline constexpr uint8_t kReplace = 28, kNoOp = 29;
inline constexpr uint8_t kCompareAndSwap = 0xff;  // no operation of MPI's

struct Update {
  uint8_t operation = kReplace;
  uint8_t element = 0;
};

// By what several processes change one part one at a time; nothing where only its own process does.
struct Guard {
  Stripes* stripes = nullptr;
  const std::byte* base = nullptr;  // of the part, here
};

// Carries out an update on the packed bytes of `target` from `offset` on, `bytes` of them; both are multiples of the
// element's size. Fetching what was there and folding are one act for each element, whatever way the operation has
// come, whatever the operation, the count and the layout: this is the one place that makes them atomic to others.
// `data`: packed, of the origin's; unused with kNoOp. kCompareAndSwap has one element to compare with, and behind it one
// to put in its place. `old`: takes what was there before, unless it is nullptr.
void carry_out(const Arithmetic& arithmetic, Update update, const Payload& target, int64_t offset,
               const std::byte* data, int64_t bytes, std::byte* old, const Guard& guard = {});

}  // namespace tutti::rma
