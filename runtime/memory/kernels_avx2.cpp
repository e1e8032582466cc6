// SPDX-License-Identifier: BSD-3-Clause
// The kernels for processors with AVX2, and with F16C, which no processor with AVX2 lacks (x86-64-v3 has both); this
// file alone is compiled for them.
#if defined(__x86_64__)
#include "memory/kernels_body.hpp"

namespace tutti::memory {

constexpr KernelTable kAvx2Kernels = make_kernels();

}  // namespace tutti::memory
#endif
