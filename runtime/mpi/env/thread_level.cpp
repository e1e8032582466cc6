// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/env/thread_level.hpp"

#include <atomic>
#include <thread>

#include "base/flight.hpp"
#include "base/log.hpp"
#include "functions.hpp"
#include "mpi/object/entry.hpp"
#include "mpi/object/incident.hpp"
#include "mpi/object/process.hpp"

namespace tutti::mpi {
namespace {

bool reports_only = false;

// Ends a job that is lost anyway.
bool may_always(uint16_t function) { return function == static_cast<uint16_t>(Function::Abort); }

CallSite place_of(uint16_t function, const void* caller) {
  return {function, reinterpret_cast<uintptr_t>(caller)};
}

void tell(std::string text, const std::vector<CallSite>& places) {
  static std::atomic<bool> told{false};
  if (told.exchange(true) && reports_only) return;
  for (const std::string& line : place_texts(places)) text += "\n  " + line;
  if (reports_only) return log_line(Level::error, text);
  process().job->abort(MPI_ERR_OTHER, text);
}

std::string intro(uint16_t function) {
  return fmt::format("rank {} on {}: {} is called by ", my_process(), process().job->view().host,
                     flight::name_of_function(function));
}

void judge_newcomer(uint16_t function, const void* caller) {
  if (phase.load(std::memory_order_acquire) != Phase::running || may_always(function)) return;
  const Process& p = process();
  if (p.thread_level > MPI_THREAD_FUNNELED || std::this_thread::get_id() == p.main_thread) return;
  tell(intro(function) +
           fmt::format("another thread than the one that initialized MPI, and {} allows that one alone: ask "
                       "MPI_Init_thread for MPI_THREAD_SERIALIZED, or for MPI_THREAD_MULTIPLE if threads call "
                       "at the same time (the standard, section 11.6.2)",
                       name_of_thread_level(p.thread_level)),
       {place_of(function, caller)});
}

void judge_overlap(uint16_t function, const void* caller, const flight::Call& other) {
  if (phase.load(std::memory_order_acquire) != Phase::running || may_always(function)) return;
  const flight::Call theirs = flight::read(other);
  if (theirs.function == static_cast<uint16_t>(Function::Abort)) return;
  if (process().thread_level == MPI_THREAD_MULTIPLE) return;
  tell(intro(function) +
           fmt::format("one thread while another is in {}, and MPI_THREAD_SERIALIZED allows one at a time: ask "
                       "MPI_Init_thread for MPI_THREAD_MULTIPLE (the standard, section 11.6.2)",
                       flight::name_of_function(theirs.function)),
       {place_of(function, caller), {theirs.function, theirs.caller}});
}

}  // namespace

const char* name_of_thread_level(int level) {
  switch (level) {
    case MPI_THREAD_SINGLE: return "MPI_THREAD_SINGLE";
    case MPI_THREAD_FUNNELED: return "MPI_THREAD_FUNNELED";
    case MPI_THREAD_SERIALIZED: return "MPI_THREAD_SERIALIZED";
    default: return "MPI_THREAD_MULTIPLE";
  }
}

void open_thread_judge(bool report_only) {
  reports_only = report_only;
  const int level = process().thread_level;
  if (level == MPI_THREAD_MULTIPLE) return;
  flight::set_judge({judge_newcomer, judge_overlap}, level == MPI_THREAD_SERIALIZED);
}

}  // namespace tutti::mpi
