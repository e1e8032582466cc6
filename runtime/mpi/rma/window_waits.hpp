// SPDX-License-Identifier: BSD-3-Clause
// What all calls of synchronisation of a window do (window_sync.cpp, window_locks.cpp): own the engine, wait for what others
// tell, and say what has failed.
#pragma once

#include <utility>

#include "base/engine_owned.hpp"
#include "base/fence.hpp"
#include "engine/engine.hpp"
#include "mpi/check/strict.hpp"
#include "mpi/comm/collective_call.hpp"
#include "mpi/object/hearsay.hpp"
#include "mpi/rma/races.hpp"
#include "mpi/rma/seen_window.hpp"
#include "mpi/rma/window.hpp"
#include "rma/window_end.hpp"

namespace tutti::mpi::one_sided {

// In a call of synchronisation. It begins with an atomic addition, which fence_behind_update() stands behind.
class TUTTI_SCOPED_CAPABILITY Inside {
 public:
  explicit Inside(const Window& window) TUTTI_ACQUIRES(engine_owned) : own_(window.comm->engine()), window_(window) {
    if (strict) [[unlikely]]
      strict->acts();
    hearsay::may_tell();
  }
  ~Inside() TUTTI_RELEASES() {
    if (SeenWindow* const looks_on = seen(window_)) [[unlikely]]
      looks_on->synchronised();
  }

 private:
  const engine::Engine::Guard own_;
  const Window& window_;
};

// A call that need not wait for anybody. A program may make it again and again, to look whether another rank has written
// something: with more ranks than cores it cannot, while this one has its core, so that one of so many looks gives it up.
template <class Call>
Error without_wait(Window& win, Call&& call) {
  constexpr unsigned kLooks = 16;
  bool gives_way = false;
  Error error;
  {
    const Inside inside(win);
    error = call();
    gives_way = !std::exchange(win.has_written, false) && ++win.looks % kLooks == 0;
  }
  if (gives_way) win.comm->engine().give_way();
  return error;
}

// A member has failed: nothing is waited for any more, and each synchronisation says so.
inline bool is_harmed(const Window& window) TUTTI_ENGINE_OWNED {
  return window.comm->hidden.harm != 0;
}

// And nothing that this process has started, all of which has been given up, touches its buffers any more.
inline bool is_given_up(const Window& window) TUTTI_ENGINE_OWNED {
  return is_harmed(window) && window.protocol->origin().is_locally_complete(rma::kAll);
}

// Waits for what others tell, by messages or by words in memory.
template <class Done, class Needs>
void await(const Window& window, Done&& done, Needs&& needs) TUTTI_ENGINE_OWNED {
  const auto over = [&]() TUTTI_ENGINE_OWNED { return done() || is_harmed(window); };
  const rma::WordWait wait(*window.protocol, over);
  window.comm->engine().wait_until(over, needs);
}

// Of an assertion of a call, which knows those that `allowed` has: `which` names them.
Error check_assertion(int assertion, int allowed, const char* which);
// Until what this process has started at `rank`, or at all (rma::kAll), is complete there. The others' progress completes
// these, which needs no call of theirs.
void await_flushed(Window& win, int rank) TUTTI_ENGINE_OWNED;
// The first failure that targets have told of since the last time, raised on the window by the call that completes the
// operations.
inline Error failure_of(Window& window) TUTTI_ENGINE_OWNED {
  if (window.races) [[unlikely]]
    if (Error e = window.races->take_finding()) return e;
  if (is_harmed(window)) [[unlikely]]
    return settle_first(window.comm->hidden);
  return window.protocol->origin().take_failure();
}

}  // namespace tutti::mpi::one_sided
