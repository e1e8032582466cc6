// SPDX-License-Identifier: BSD-3-Clause
// That a call may tell other processes how far this one has come, or has heard how far others have: what orders their
// accesses to memory of windows (check/knowledge.hpp). Nobody asks but in a program under ThreadSanitizer, and
// --check=strict how many calls could have heard.
#pragma once

#include <cstdint>

namespace tutti::mpi::hearsay {

// nullptr where nobody asks. Written once, before MPI_Init returns. `barrier`: of a call that no process leaves before all
// have come, a number that is the same in all; 0 of others.
inline void (*tells)(uint32_t barrier) = nullptr;
inline void (*hears)(uint32_t barrier) = nullptr;

// How many calls this process has made by which it may have heard, whatever thread. nullptr: nobody counts. Written once,
// before the program begins.
inline uint64_t (*calls_that_may_hear)() = nullptr;

// This thread is about to tell others, or may be.
inline void may_tell(uint32_t barrier = 0) {
  if (tells) [[unlikely]]
    tells(barrier);
}
// It may have heard.
inline void may_hear(uint32_t barrier = 0) {
  if (hears) [[unlikely]]
    hears(barrier);
}

}  // namespace tutti::mpi::hearsay
