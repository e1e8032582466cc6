// SPDX-License-Identifier: BSD-3-Clause
// What differs from processor to processor, and the only file with intrinsics or assembly: the pause of
// a spinning thread, a clock that costs a few nanoseconds, hints for the caches, copies that go past
// them. x86-64 and aarch64 have their own side, every other processor a plain one in standard C++. Any
// thread may call all of it. The order of memory accesses is std::atomic's matter and never relies on
// what stands here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <x86intrin.h>
#elif !defined(__aarch64__)
#include <chrono>
#endif

namespace tutti::cpu {

// Bytes that travel together between the caches of two cores. Some processors fetch two at once; what
// shall not share a line with anything else is aligned to this.
inline constexpr size_t kLine = 64;
constexpr size_t whole_lines(size_t bytes) {
  return (bytes + kLine - 1) & ~(kLine - 1);
}

// As many bytes as a core has the means to fetch at once.
inline constexpr size_t kLongestFetch = 2048;

// Between two looks of a thread that spins: it leaves the core's means to the thread beside it.
inline void pause() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  // "yield" is a no-op on most processors; a barrier for instructions takes about as long as x86's pause.
  asm volatile("isb" ::: "memory");
#endif
}

// A clock that never goes back on one core, in units of its own: to compare durations, and to tell
// order between cores roughly. It may be read ahead of the instructions before it.
inline uint64_t ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  uint64_t now;
  asm volatile("mrs %0, cntvct_el0" : "=r"(now));
  return now;
#else
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

// The line is about to be read, or written.
inline void prefetch(const void* address) {
  __builtin_prefetch(address);
}
inline void prefetch_for_writing(const void* address) {
#if defined(__x86_64__)
  // __builtin_prefetch(address, 1) is a plain one unless the compiler is told of newer processors; older
  // ones take this for a no-op.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1);
#endif
}

// Copies whole lines to where a line begins, past the caches where the processor can: for data that this
// core will not read again. Others see the bytes in the order of the copy and of what this thread
// stores with release afterwards.
inline void copy_lines_past_caches(std::byte* to, const std::byte* from, size_t lines) {
#if defined(__x86_64__)
  for (; lines > 0; --lines, to += kLine, from += kLine) {
    const auto* in = reinterpret_cast<const __m128i*>(from);
    auto* out = reinterpret_cast<__m128i*>(to);
    const __m128i a = _mm_loadu_si128(in), b = _mm_loadu_si128(in + 1), c = _mm_loadu_si128(in + 2),
                  d = _mm_loadu_si128(in + 3);
    _mm_stream_si128(out, a);
    _mm_stream_si128(out + 1, b);
    _mm_stream_si128(out + 2, c);
    _mm_stream_si128(out + 3, d);
  }
  _mm_sfence();  // such stores are in no order with later ones, a release store included
#elif defined(__aarch64__)
  for (; lines > 0; --lines, to += kLine, from += kLine) {
    asm volatile(
        "ldp q0, q1, [%1]\n\tldp q2, q3, [%1, #32]\n\t"
        "stnp q0, q1, [%0]\n\tstnp q2, q3, [%0, #32]"
        :
        : "r"(to), "r"(from)
        : "v0", "v1", "v2", "v3", "memory");
  }
  asm volatile("dmb ishst" ::: "memory");  // as above, so that no caller need know which stores these were
#else
  std::memcpy(to, from, lines * kLine);
#endif
}

// The loops of reductions are compiled a second time for processors with AVX2, which only x86-64 has.
#if defined(__x86_64__)
inline bool has_avx2() {
  return __builtin_cpu_supports("avx2");
}
#else
inline bool has_avx2() {
  return false;
}
#endif

}  // namespace tutti::cpu
