// SPDX-License-Identifier: BSD-3-Clause
// Whether the threads that call MPI are those that the thread levels allow (the standard, section 11.6.2):
// under MPI_THREAD_SINGLE and FUNNELED the one that initialized MPI, under SERIALIZED any, one after the
// other. Judged by the flight record where it knows of the call, which costs nothing: at each thread's first
// call, and where threads take turns, in each of those. Calls that only ask (MPI_Comm_rank) are judged where
// their arguments are checked, and end the job under --check=strict alone; of two threads that ask at once nobody
// hears, they are too quick. Calls that any thread may make at any time (section 11.4.1) are not looked at.
//
// Each session has a level of its own, for the objects that come of it, and a call does not tell its session
// before it has begun. So a session whose level lets several threads call ends the look; under one with a lower
// level the threads may call that have begun a session or MPI itself, and the process' first one.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>

#include "base/flight.hpp"
#include "base/mutex.hpp"

namespace tutti::mpi::env {

// Which threads may call.
enum class Callers : uint8_t { any, one_at_a_time, those_that_began };

// By what they are judged.
struct Judgement {
  std::atomic<Callers> callers{Callers::any};
  std::atomic<bool> reports_only{false};
  std::atomic<bool> told{false};
  // What has begun so far.
  Mutex mutex;
  int highest_level TUTTI_GUARDED_BY(mutex) = MPI_THREAD_SINGLE;
  bool sessions TUTTI_GUARDED_BY(mutex) = false;
};
// It lives as long as the process, and nothing of it is destroyed: threads may still call in exit handlers.
inline constinit Judgement judgement;

// MPI begins, or a session; before the call that does it returns, and once the flight record is open. A thread
// that may not call ends the job; with `report_only` it is told, once.
void look_at_callers_of_world(int level, bool report_only);
void look_at_callers_of_session(int level, bool report_only);

// Surely: this thread is known already, where only some may call.
inline bool may_ask() {
  const Callers who = judgement.callers.load(std::memory_order_relaxed);
  return who == Callers::any ||
         (who == Callers::those_that_began && flight::inside::thread != &flight::inside::unasked);
}
// Of a call that the flight record does not know of.
[[gnu::cold]] void judge_asking(uint16_t function, const void* caller);

// "MPI_THREAD_SINGLE"
const char* name_of_thread_level(int level);

}  // namespace tutti::mpi::env
