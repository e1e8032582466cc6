// SPDX-License-Identifier: BSD-3-Clause
// The kernels for any processor of this architecture, and the choice of the variant.
#include "base/cpu.hpp"
#include "memory/kernels_body.hpp"

namespace tutti::memory {

constexpr KernelTable kBaseKernels = make_kernels();

Kernel find_kernel(OpCode op, Element element) {
#if defined(__x86_64__)
  static const bool has_avx2 = cpu::has_avx2();
  const KernelTable& table = has_avx2 ? kAvx2Kernels : kBaseKernels;
#else
  const KernelTable& table = kBaseKernels;
#endif
  return table.at[static_cast<int>(op)][static_cast<int>(element)];
}

}  // namespace tutti::memory
