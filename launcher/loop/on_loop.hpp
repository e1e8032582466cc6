// SPDX-License-Identifier: BSD-3-Clause
// That a function runs on the loop's thread (loop.hpp), as something that functions can ask of their callers and clang
// can prove (base/thread_safety.hpp). It is said where other threads are near: PMIx's, those that read and write the
// terminal, those that start children. A process has one loop.
#pragma once

#include "base/thread_safety.hpp"

namespace tutti::launcher {

class TUTTI_CAPABILITY("role") OnLoop {};
inline constexpr OnLoop on_loop;

// Of a function: it is called on the loop's thread. Of a field: it is touched there alone.
#define TUTTI_ON_LOOP TUTTI_REQUIRES(::tutti::launcher::on_loop)
#define TUTTI_LOOPS TUTTI_GUARDED_BY(::tutti::launcher::on_loop)

// What the loop calls, as a task that was posted or what waited for an event, begins with this, and so does what is
// called by such: clang follows no function that is handed over.
inline void assume_on_loop() TUTTI_ASSERTS(on_loop) {}

}  // namespace tutti::launcher
