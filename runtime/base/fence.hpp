// SPDX-License-Identifier: BSD-3-Clause
// A fence that costs nothing where the processor has made one already. What it orders is plain and atomic accesses of
// one thread, as std::atomic_thread_fence does.
#pragma once

#include <atomic>

namespace tutti {

// Of a thread that has made an atomic read-modify-write since the accesses that come before (owning the engine begins
// with one, taking a ticket is one): these are seen by others before what the thread accesses from here on. On x86-64
// such an instruction is a full fence itself, so that a second one behind it would cost its six nanoseconds for nothing;
// what is left to forbid is that the compiler moves accesses.
inline void fence_behind_update() {
#if defined(__x86_64__)
  std::atomic_signal_fence(std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace tutti
