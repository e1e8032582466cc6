// SPDX-License-Identifier: BSD-3-Clause
// What a library leaks in a call, where LeakSanitizer cannot see by the stack that it was that library: its
// frames end at those of the C library.
#pragma once

// LeakSanitizer's, in a program that is built with it. NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" [[gnu::weak]] void __lsan_disable();
extern "C" [[gnu::weak]] void __lsan_enable();

namespace tutti {

// While it lives, what this thread allocates is no leak.
class LeaksNotSought {
 public:
  LeaksNotSought() {
    if (__lsan_disable) __lsan_disable();
  }
  ~LeaksNotSought() {
    if (__lsan_enable) __lsan_enable();
  }
  LeaksNotSought(const LeaksNotSought&) = delete;
};
// NOLINTEND(bugprone-reserved-identifier)

}  // namespace tutti
