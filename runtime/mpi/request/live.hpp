// SPDX-License-Identifier: BSD-3-Clause
// What the calls on requests that a program holds have in common: what stands behind a handle, and
// searches among several of them.
#pragma once

#include "mpi/object/entry.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/request/api_request.hpp"
#include "mpi/request/persistent.hpp"
#include "mpi/request/request.hpp"

namespace tutti::mpi {

// An error, with the entry's number, unless all of an array are requests or null.
Error checked(int count, const MPI_Request* requests);

// What stands behind a handle, and what has been started: of a persistent request its operation
// under way. Each call reads the handle and the operation once, for another thread may change them.
struct Live {
  PersistentRequest* persistent = nullptr;  // nullptr: an ordinary one
  Request* request = nullptr;               // nullptr: nothing has been started
  explicit operator bool() const { return request != nullptr; }
  Request* operator->() const { return request; }
};

// Of a handle that was found good.
inline Live at(const MPI_Request& place) {
  const MPI_Request handle = __atomic_load_n(&place, __ATOMIC_RELAXED);
  if (handle == MPI_REQUEST_NULL) return {};
  Request* const request = known<Request>(handle);
  PersistentRequest* const persistent = as_persistent(request);
  return {persistent, persistent ? persistent->started() : request};
}

inline bool is_good(MPI_Request handle) {
  return handle == MPI_REQUEST_NULL || resolve<Request>(handle);
}

// Tells those who watch the request (request/watch.hpp): a call is about to say that it is complete.
void tell_of_end(const Live& live);

// One pass of the engine, for a call that asks and does not wait.
void one_pass();
// Of a call that need not wait, nor ask: one of many makes a pass, or a program that makes no other calls would keep
// others waiting where no progress thread runs.
inline void pass_at_times() {
  constexpr int kCallsPerPass = 64;
  static thread_local int calls = 0;
  if (++calls < kCallsPerPass) [[likely]]
    return;
  calls = 0;
  one_pass();
}

// --stress=random takes any of what is complete.
bool chooses_by_chance();
// One of the active requests that is complete, or -1; `active` tells whether there are any.
int find_complete(int count, const MPI_Request* requests, bool& active);
bool all_complete(int count, const MPI_Request* requests);

}  // namespace tutti::mpi
