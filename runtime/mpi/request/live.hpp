// SPDX-License-Identifier: BSD-3-Clause
// What the calls on requests that a program holds have in common: what stands behind a handle, and
// searches among several of them.
#pragma once

#include "mpi/object/entry_guard.hpp"
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

// --stress=random takes any of what is complete.
bool chooses_by_chance();
// One of the active requests that is complete, or -1; `active` tells whether there are any. The search begins at
// `first` and goes round.
int find_complete(int count, const MPI_Request* requests, bool& active, int first = 0);

// Where the calls of a thread that take one of several requests begin to look: behind the one that was taken last, so
// that a request whose place is filled again and again starves no other, and one call after the other over many that
// are complete does not pass over all those before. But only in the same array, which is not known by its address: it
// is if the next active request behind the one that was taken is the same operation still, by a mark that it got. Any
// other array is searched from its beginning.
class Turn {
 public:
  // Where to begin.
  int first(int count, const MPI_Request* requests) const { return is_known(count, requests) ? next_ : 0; }
  // The same of an array that is known.
  int next() const { return next_; }
  bool is_known(int count, const MPI_Request* requests) const;
  // The request at `index` is about to be given out.
  void take(int count, const MPI_Request* requests, int index);

 private:
  const MPI_Request* requests_ = nullptr;  // nullptr: none is known
  int count_ = 0, next_ = 0;
  uint32_t mark_ = 0;
};

// What is kept of a thread that asks for its requests, as long as the thread.
struct Asker {
  Turn turn;
  int calls_without_pass = 0;
  uint64_t chance = 0;  // with --stress=random; 0: its seed has not been taken yet
};
inline constinit thread_local Asker asker;

// One pass of the engine, for a call that asks and does not wait.
void one_pass();
// Of a call that need not wait, nor ask: one of many makes a pass, or a program that makes no other calls would keep
// others waiting where no progress thread runs.
inline void pass_at_times() {
  constexpr int kCallsPerPass = 64;
  if (++asker.calls_without_pass < kCallsPerPass) [[likely]]
    return;
  asker.calls_without_pass = 0;
  one_pass();
}

bool all_complete(int count, const MPI_Request* requests);

}  // namespace tutti::mpi
