// SPDX-License-Identifier: BSD-3-Clause
// What is known of the ranks of a job that runs: plain data that travels between its nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/flight.hpp"

namespace tutti::launcher {

struct CollectiveView {
  flight::CallRecord call;
  std::string place, communicator;
};

// A rank of another job; which one, the views tell that have the same number of theirs.
struct ElsewhereView {
  uint64_t job_number = 0;
  int rank = 0;
};

// What one rank is doing, as a reader on its node sees it.
struct RankView {
  std::string job, host, program;
  std::string launcher;     // the host of its mpirun; empty: not known
  uint64_t job_number = 0;  // which the ranks of other jobs know its job by
  int rank = -1, size = 0, pid = 0;
  char process_state = '?';  // as in /proc/PID/stat: R, S, T, Z, …
  std::string kernel;        // the same of the thread that calls MPI, in words: KernelState::doing
  bool finalized = false;
  bool awaits_debugger = false;  // in MPI_Init (--stop-on-start)
  bool inside = false;           // of a call of MPI
  bool looks = false;            // calls MPI_Test or its kin, again and again
  std::string call, place;       // that one, or the latest
  std::string communicator;      // of it; empty: none
  int64_t milliseconds = -1;     // in the call, or since the latest; -1: not known
  bool exact = true;             // false: at most so long
  int64_t calls = 0;             // recorded so far, so without those that only look
  int64_t bytes_a_call = -1;     // of the latest ones, as their arguments say; -1: not known
  std::vector<int> waits_for;    // ranks of MPI_COMM_WORLD, if known
  int waits_for_count = 0;       // of all, also those that are not listed
  bool waits_for_some = false;   // the action of some of them may do
  std::vector<ElsewhereView> waits_elsewhere;
  std::string file;                 // what its threads are at with files; empty: nothing
  std::vector<std::string> latest;  // calls, the latest first
  // The latest collective calls, the oldest first, where they were asked for.
  std::vector<CollectiveView> collectives;
};

// What is to be looked at on every node of a job.
struct Question {
  uint64_t number = 0;          // comes back with the answer
  std::vector<int> records_of;  // ranks whose collective calls are wanted
  bool together = false;        // not each rank by itself: groups of those that do the same
};

// A rank without which its job goes on.
struct FailedView {
  std::string job;
  int rank = -1;
  std::string why;           // "was killed by signal 9 (Killed)"
  int64_t milliseconds = 0;  // since it has failed
};

}  // namespace tutti::launcher
