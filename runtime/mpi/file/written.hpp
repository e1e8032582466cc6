// SPDX-License-Identifier: BSD-3-Clause
// Which bytes of a file this rank writes in nonatomic mode, under --check=strict: two ranks that write the same ones
// between two calls of MPI_File_sync, or of it and MPI_File_open or MPI_File_close, are ordered by nothing (the standard,
// 14.6.1). Refuses to judge what is read, other handles of the same file, and what does not fit within its bounds: then
// an overlap may be overlooked, and none is made up. Any thread.
#pragma once

#include <vector>

#include "base/bytes.hpp"
#include "mpi/file/access.hpp"
#include "mpi/object/incident.hpp"

namespace tutti::mpi::file {

class Written {
 public:
  // This rank has accessed these, as its call at `place` says: of a write in nonatomic mode the bytes are noted.
  void add(const PlacedAccess& job, CallSite place);
  // Collective on the file, in the program's call `function`, which ends what goes on side by side. What is found is
  // told at MPI_Finalize, by the higher of two ranks.
  Error compare(File& file, Function function);

 private:
  static constexpr size_t kMostRuns = 4096;
  struct Run {
    int64_t low, high;  // [low, high)
    CallSite place;
  };
  // As a run of its own, or with the latest one, where it goes on at the same place. False: there is no room.
  static bool append(std::vector<Run>& runs, const Run& run);
  static Bytes packed(const std::vector<Run>& runs);

  Mutex mutex_;
  std::vector<Run> runs_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::mpi::file
