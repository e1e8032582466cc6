// SPDX-License-Identifier: BSD-3-Clause
// What `tutti why` knows of one rank; plain data that travels between the nodes of a job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/flight.hpp"

namespace tutti::launcher {

// What one rank is doing, as a reader on its node sees it.
struct RankView {
  std::string job, host, program;
  int rank = -1, size = 0, pid = 0;
  char process_state = '?';  // as in /proc/PID/stat: R, S, T, Z, …
  bool finalized = false;
  bool inside = false;         // of a call of MPI
  bool looks = false;          // calls MPI_Test or its kin, again and again
  std::string call, place;     // that one, or the latest
  std::string communicator;    // of it; empty: none
  int64_t milliseconds = -1;   // in the call; or at most since the latest; -1: not known
  std::vector<int> waits_for;  // ranks of MPI_COMM_WORLD, if known
  int waits_for_count = 0;
  std::vector<std::string> latest;  // calls, the latest first
  // The latest collective calls, the oldest first, and their places: only on the rank's own node.
  std::vector<flight::Call> collectives;
  std::vector<std::string> places;
};

}  // namespace tutti::launcher
