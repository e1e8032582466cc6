// SPDX-License-Identifier: BSD-3-Clause
// Where the time of this rank goes (mpirun --profile): sums up, by call site, how long calls take and for whom they wait,
// in a page of memory that outlives the rank (page.hpp). It hears of calls from the flight record, which stamps all of them
// meanwhile, and of operations and collectives as a sink of life/. Judges and prints nothing: the launcher brings the pages
// of all ranks together. Calls that only look (MPI_Test) are told as runs, where they follow close behind each other
// until what they ask for has come: as waiting, and by the line that asked last.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tutti::profile {

struct Job {
  int rank = 0, size = 1;
  // The bytes of an element of a datatype, by its handle; 0: not known. Called within a call that has it.
  int64_t (*bytes_of_type)(uint64_t handle) = nullptr;
  bool has_timeline = false;
  std::string_view host;
  std::string
      file;  // the setting profile.file: without a launcher what is kept goes into a folder of this name and ".ranks"
};

// Begins the profile of this process, whose flight record is open, and which lives as long as it does. An error: there is
// nowhere to keep it, or no room.
Error begin(const Job& job);
// The process leaves MPI for good. Nothing, unless it has begun.
void end();

// Regions of the program, which sites belong to: the innermost one of the thread. Nothing is done where nobody profiles. Any
// thread. A name beyond those that there is room for counts to the region around it.
void enter_region(const char* name);
void leave_region();
// Calls count from here on, or no more (MPI_Pcontrol(1), MPI_Pcontrol(0)).
void count_calls(bool on);
// What has been counted is dropped (MPI_Pcontrol(2)).
void start_again();

}  // namespace tutti::profile
