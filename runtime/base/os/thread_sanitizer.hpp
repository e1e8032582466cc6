// SPDX-License-Identifier: BSD-3-Clause
// Whether the program runs under ThreadSanitizer, whatever this library was built for.
#pragma once

// Null without ThreadSanitizer, whose name it is. NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" void __tsan_init() __attribute__((weak));

namespace tutti {

inline bool is_under_thread_sanitizer() {
  return __tsan_init != nullptr;
}

}  // namespace tutti
