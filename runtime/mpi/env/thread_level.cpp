// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/env/thread_level.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "base/flight.hpp"
#include "base/log.hpp"
#include "boot/joining.hpp"
#include "functions.hpp"
#include "mpi/check/strict.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/entry_guard.hpp"
#include "mpi/object/incident.hpp"

namespace tutti::mpi::env {
namespace {

// What has begun so far.
struct Begun {
  int highest_level;
  bool sessions;
};
Begun begun() {
  const Lock lock(judgement.mutex);
  return {judgement.highest_level, judgement.sessions};
}

// MPI_Abort ends a job that is lost anyway, and a session may begin in any thread.
bool may_always(uint16_t function) {
  return function == static_cast<uint16_t>(Function::Abort) ||
         function == static_cast<uint16_t>(Function::Session_init);
}

CallSite place_of(uint16_t function, const void* caller) {
  return {function, reinterpret_cast<uintptr_t>(caller)};
}

// A call that only asks does no harm with this library, and programs make such calls in threads of OpenMP: it ends the
// job under --check=strict alone.
void tell(std::string text, const std::vector<CallSite>& places) {
  const bool reports_only = judgement.reports_only;
  const bool goes_on = reports_only || (calling_thread.only_asks && !strict);
  if (judgement.told.exchange(true) && goes_on) return;
  for (const std::string& line : place_texts(places)) text += "\n  " + line;
  if (goes_on && !reports_only) return log_line(Level::warning, text);  // which names the rank
  text = fmt::format("rank {} on {}: ", my_process(), own_job().view().host) + text;
  if (goes_on) return log_line(Level::error, text);
  own_job().abort(MPI_ERR_OTHER, text);
}

std::string intro(uint16_t function) {
  return fmt::format("{} is called by ", flight::name_of_function(function));
}

bool is_first_thread() {
  return syscall(SYS_gettid) == getpid();
}

void judge_newcomer(uint16_t function, const void* caller) {
  if (current.phase.load(std::memory_order_acquire) != Phase::running || may_always(function)) return;
  if (judgement.callers != Callers::those_that_began) return;
  if (calling_thread.began_one) return;
  const Begun now = begun();
  if (now.sessions && is_first_thread()) return;
  const char* const level = name_of_thread_level(now.highest_level);
  tell(intro(function) +
           (now.sessions
                ? fmt::format("another thread than those that began MPI or a session, and {} allows those alone: "
                              "give MPI_Session_init an info whose thread_level is MPI_THREAD_MULTIPLE",
                              level)
                : fmt::format("another thread than the one that initialized MPI, and {} allows that one alone: ask "
                              "MPI_Init_thread for MPI_THREAD_SERIALIZED, or for MPI_THREAD_MULTIPLE if threads "
                              "call at the same time",
                              level)) +
           " (the standard, section 11.6.2)",
       {place_of(function, caller)});
}

void judge_overlap(uint16_t function, const void* caller, const flight::CallRecord& other) {
  if (current.phase.load(std::memory_order_acquire) != Phase::running || may_always(function)) return;
  const flight::CallRecord theirs = flight::read(other);
  if (theirs.function == static_cast<uint16_t>(Function::Abort)) return;
  if (judgement.callers != Callers::one_at_a_time) return;
  tell(intro(function) +
           fmt::format("one thread while another is in {}, and MPI_THREAD_SERIALIZED allows one at a time: ask "
                       "MPI_Init_thread for MPI_THREAD_MULTIPLE (the standard, section 11.6.2)",
                       flight::name_of_function(theirs.function)),
       {place_of(function, caller), {theirs.function, theirs.caller}});
}

// Several levels side by side say of calls at the same time nothing, and neither does one that is over.
void look(int level, bool of_session, bool report_only) {
  const Lock lock(judgement.mutex);
  judgement.reports_only = report_only;
  calling_thread.began_one = true;
  flight::thread();  // known from its first call on
  judgement.sessions |= of_session;
  judgement.highest_level = std::max(judgement.highest_level, level);
  if (judgement.highest_level <= MPI_THREAD_FUNNELED)
    judgement.callers = Callers::those_that_began;
  else if (!judgement.sessions && level == MPI_THREAD_SERIALIZED)
    judgement.callers = Callers::one_at_a_time;
  else
    judgement.callers = Callers::any;
  if (judgement.callers != Callers::any)
    flight::set_judge({judge_newcomer, judge_overlap}, judgement.callers == Callers::one_at_a_time);
}

}  // namespace

const char* name_of_thread_level(int level) {
  switch (level) {
    case MPI_THREAD_SINGLE:
      return "MPI_THREAD_SINGLE";
    case MPI_THREAD_FUNNELED:
      return "MPI_THREAD_FUNNELED";
    case MPI_THREAD_SERIALIZED:
      return "MPI_THREAD_SERIALIZED";
    default:
      return "MPI_THREAD_MULTIPLE";
  }
}

void judge_asking(uint16_t function, const void* caller) {
  if (judgement.told && !strict) return;
  const flight::Thread& mine = *flight::inside::thread;
  const bool is_unasked = &mine == &flight::inside::unasked;
  // The library may call the program's functions in a thread of its own.
  if (InCallback::is_here() || (!is_unasked && mine.inside)) return;
  calling_thread.only_asks = true;
  if (judgement.callers == Callers::those_that_began && is_unasked) judge_newcomer(function, caller);
  if (judgement.callers == Callers::one_at_a_time) flight::inside::expect_alone(mine, function, caller);
  calling_thread.only_asks = false;
}

void look_at_callers_of_world(int level, bool report_only) {
  look(level, false, report_only);
}
void look_at_callers_of_session(int level, bool report_only) {
  look(level, true, report_only);
}

}  // namespace tutti::mpi::env
