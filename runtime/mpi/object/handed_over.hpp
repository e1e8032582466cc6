// SPDX-License-Identifier: BSD-3-Clause
// What a function of the program's is given that the library calls, as MemorySanitizer in the program is told: it has not
// seen this library write it, nor pass it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/layout.hpp"

// Null without the sanitizer, whose names they are. NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
[[gnu::weak, gnu::visibility("default")]] void __msan_unpoison(const volatile void* begin, size_t bytes);
[[gnu::weak, gnu::visibility("default")]] void __msan_unpoison_param(size_t arguments);
}
// NOLINTEND(bugprone-reserved-identifier)

namespace tutti::mpi {

// Just before the call.
inline void hand_over(const Payload& data) {
  if (!__msan_unpoison) [[likely]]
    return;
  const auto base = reinterpret_cast<uintptr_t>(data.base);
  if (data.count > 0)
    (void)data.layout->each_run(0, data.bytes(), [&](int64_t at, int64_t bytes) {
      __msan_unpoison(reinterpret_cast<void*>(base + static_cast<uintptr_t>(at)), static_cast<size_t>(bytes));
      return true;
    });
}
template <class T>
void hand_over(T& value) {
  if (__msan_unpoison) [[unlikely]]
    __msan_unpoison(&value, sizeof value);  // NOLINT(bugprone-sizeof-expression): some are pointers
}
inline void hand_over_arguments(size_t how_many) {
  if (__msan_unpoison_param) [[unlikely]]
    __msan_unpoison_param(how_many);
}

}  // namespace tutti::mpi
