// SPDX-License-Identifier: BSD-3-Clause
// What a call has written at its arguments, as MemorySanitizer in the program is told: this library is not instrumented,
// and the sanitizer does not see it. Used by the generated entry points, each of which asks looks_on() and nothing else where
// there is no such sanitizer. Received data is told by mpi/check/initialised_memory.hpp.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <numeric>

#include "mpi/object/objects.hpp"
#include "mpi/rma/window.hpp"

// Null without the sanitizer, whose name it is. NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" [[gnu::weak, gnu::visibility("default")]] void __msan_unpoison(const volatile void* begin, size_t bytes);

namespace tutti::lib::initialised {

inline bool looks_on() {
  return __msan_unpoison != nullptr;
}

// What stands for nothing is no address: MPI_STATUS_IGNORE, MPI_UNWEIGHTED.
inline void bytes_at(const volatile void* at, int64_t bytes) {
  constexpr uintptr_t kFirstPage = 4096;
  if (reinterpret_cast<uintptr_t>(at) >= kFirstPage && bytes > 0) __msan_unpoison(at, static_cast<size_t>(bytes));
}

template <class T>
[[gnu::cold]] void at(const T* place, int64_t count = 1) {
  bytes_at(place, count * static_cast<int64_t>(sizeof(T)));
}
// A pointer, or a number as wide, whatever type the program gives it.
[[gnu::cold]] inline void at(const void* place, int64_t = 1) {
  bytes_at(place, sizeof(void*));
}
// An attribute, and what a predefined one points to: a number of the library's.
[[gnu::cold]] inline void attribute_at(const void* place, int key, const int* flag) {
  at(place);
  const bool is_of_comm = key >= MPI_TAG_UB && key <= MPI_UNIVERSE_SIZE;
  const bool is_of_window = key > MPI_WIN_BASE && key <= MPI_WIN_MODEL;
  if (!place || !flag || !*flag || (!is_of_comm && !is_of_window)) return;
  bytes_at(*static_cast<void* const*>(place), key == MPI_WIN_SIZE ? sizeof(MPI_Aint) : sizeof(int));
}
// How long a string is that the call has filled.
inline int64_t number_at(const int* place) {
  return place ? *place + 1 : 0;
}
[[gnu::cold]] inline int64_t sum_of(int count, const int* numbers) {
  return numbers && count > 0 ? std::accumulate(numbers, numbers + count, int64_t{0}) : 0;
}

// Memory of a window, to which others have put something by the end of a call that synchronises. As long as the call.
class OfWindow {
 public:
  [[gnu::always_inline]] explicit OfWindow(const MPI_Win* handle) {
    if (looks_on()) [[unlikely]]
      find(handle);
  }
  [[gnu::always_inline]] ~OfWindow() {
    if (looks_on()) [[unlikely]]
      bytes_at(base_, bytes_);
  }
  OfWindow(const OfWindow&) = delete;

 private:
  [[gnu::cold]] void find(const MPI_Win* handle) {
    const mpi::Window* const window = handle ? mpi::resolve<mpi::Window>(*handle) : nullptr;
    if (!window) return;
    base_ = window->base;
    bytes_ = window->bytes;
  }
  const void* base_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace tutti::lib::initialised
