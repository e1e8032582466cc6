// SPDX-License-Identifier: BSD-3-Clause
// What a program has printed may still lie in its memory when the library ends the process by
// _exit, which leaves it there.
#pragma once

#include <chrono>

namespace tutti {

inline constexpr auto kFlushBound = std::chrono::milliseconds(500);

// Writes out what the program's streams hold: those of C's stdio, and C++'s standard ones. Takes no
// longer than the bound, after which a stream whose pipe is stuck, or whose lock another thread
// holds, keeps what it has. Not for signal handlers. The process is expected to end next.
void flush_streams(std::chrono::milliseconds bound = kFlushBound);

}  // namespace tutti
