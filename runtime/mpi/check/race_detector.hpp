// SPDX-License-Identifier: BSD-3-Clause
// ThreadSanitizer in the program, and what it is told of memory that operations use. An access of an operation which is
// under way while the program goes on is made by a fiber: one of the sanitizer's threads that never runs, and of which
// it knows only what it is told. What orders the fiber before and behind other threads is said here; a load or store of
// the program's that nothing orders with it the sanitizer tells by itself, with both places. This library is not
// instrumented, and the sanitizer sees nothing else of what it does.
//
// Fibers are few, since some thousands of them and of threads end a program: an operation beyond the bound is not seen,
// of which one line is printed. Any thread; each function is short, and none calls the program.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/layout.hpp"
#include "mpi/object/incident.hpp"

namespace tutti::mpi::race_detector {

// The program is instrumented, and its runtime has what the functions below need. Nothing else may be called
// where not.
bool is_here();
// The program is instrumented, and its runtime lacks some of that.
bool is_too_old();

// A thread of the sanitizer's that runs nothing. It lives for ever.
struct OneFiber;
using Fiber = OneFiber*;

// What orders threads: whoever acquires is behind all that was released before. Not on a stack, where the sanitizer
// would know it still when it is gone.
class Order {
 public:
  Order() = default;
  Order(const Order&) = delete;
  void release();                // by the calling thread
  void acquire();                // likewise
  void release_of(Fiber fiber);  // what the fiber has done so far
  void acquire_for(Fiber fiber);

 private:
  alignas(8) char address_ = 0;  // it alone matters
};

// One that reports call by this name if there is such a one: a name that lives for ever. nullptr: there are too many.
Fiber take_fiber(std::string_view name = {});
// All that it has done was acquired by whoever uses its memory next.
void give_back(Fiber fiber);
// As reports call it from now on: "MPI_Irecv".
void name(Fiber fiber, std::string_view name);

// The calling thread is behind all that the fiber has done.
void order_me_behind(Fiber fiber);

// The fiber reads or writes memory, by a call at `caller` in the program. Of a layout with gaps 4096 runs are told.
void access(Fiber fiber, const Payload& payload, bool writes, uint64_t caller);
// Behind all that the calling thread has done.
void access_behind_me(Fiber fiber, const Payload& payload, bool writes, uint64_t caller);
// The same of the calling thread itself.
void access(const Payload& payload, bool writes, uint64_t caller);

}  // namespace tutti::mpi::race_detector
