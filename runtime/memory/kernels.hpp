// SPDX-License-Identifier: BSD-3-Clause
// The loops of the predefined reductions: into[i] = left[i] op right[i], for every representation
// of an element that makes sense for the operation. Which of them the standard allows on which type
// is the operation's business (mpi/type/op.cpp).
#pragma once

#include <cstdint>

#include "base/reduction.hpp"
#include "memory/element.hpp"

namespace tutti::memory {

using Kernel = void (*)(const Reduction& self, const void* left, const void* right, void* into, int64_t count);

// In the order of the ABI's handles, MPI_OP_NULL + 1 being sum.
enum class OpCode : uint8_t {
  // clang-format off
  sum = 1, min = 2, max = 3, prod = 4, band = 8, bor = 9, bxor = 10, land = 16, lor = 17, lxor = 18,
  minloc = 24, maxloc = 25, replace = 28, no_op = 29,
};
// clang-format on
inline constexpr int kOpCodes = 32;

struct KernelTable {
  Kernel at[kOpCodes][static_cast<int>(Element::count)];
};

// The fastest one that this processor runs; nullptr if there is none. Every variant gives the same
// bits.
Kernel find_kernel(OpCode op, Element element);

// The variants: the same source, compiled for two instruction sets.
extern const KernelTable kBaseKernels;
#if defined(__x86_64__)
extern const KernelTable kAvx2Kernels;
#endif

}  // namespace tutti::memory
