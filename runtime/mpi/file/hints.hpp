// SPDX-License-Identifier: BSD-3-Clause
// The hints of files (the standard, section 14.2.8), and the names of ROMIO for the same things.
// Unknown ones are ignored; a number that is 0 is no wish; a value that means nothing is a note, which rank 0 of the
// file's communicator (it `speaks`) gives once in the job. What is in force stays.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mpi/object/info.hpp"

namespace tutti::mpi::file {

struct Hints {
  enum class CollectiveBuffering { automatic, always, never };

  CollectiveBuffering buffered_reads = CollectiveBuffering::automatic, buffered_writes = CollectiveBuffering::automatic;
  int64_t cb_buffer_size = 4 << 20;                // bytes of the file that an aggregator holds at a time
  int cb_nodes = 0;                                // aggregators; 0: up to four, or one for 16 ranks
  int64_t striping_unit = 0, striping_factor = 0;  // of the file; 0: what its file system says
  int permissions = 0666;
  std::vector<Info::Entry> told;  // others that are known, as the program gave them

  void take(const Info* info, bool speaks);
};

}  // namespace tutti::mpi::file
