// SPDX-License-Identifier: BSD-3-Clause
// Brings the profiles of a job's ranks together: sums by place, and who came last to the collectives. Pure.
//
// A collective waits for the last rank that enters it, which no rank sees by itself: so the entries of all ranks are compared,
// of those calls that every rank has kept (profile_meetings.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "launcher/data/rank_profile.hpp"

namespace tutti::launcher {

// Why calls waited, in the order of profile::Wait, that others came late to a collective, and that they did because they were
// at a file: aggregators are, for others.
inline constexpr size_t kWaitKinds = 8, kLateToCollective = 6, kAtFile = 7;

// Of the collectives compared at a place: how often which rank came last, and by how much behind the others' middle.
struct Latecomers {
  std::map<int, uint64_t> last;
  std::map<int, int64_t> late_by;
};

struct FileSums {
  uint64_t pieces = 0, bytes = 0, unaligned = 0;
  int64_t time = 0;
  std::vector<int> ranks;  // who moved bytes
};

struct PlaceSums {
  std::string function, place, region;
  uint64_t calls = 0, bytes = 0;
  int64_t time = 0;
  int64_t waited[kWaitKinds] = {};
  std::array<std::map<int, int64_t>, kWaitKinds> blamed;  // by process; -1: not known
  uint64_t compared = 0;                                  // collectives
  Latecomers late, at_file;
  FileSums file;  // what the calls did, by their own threads
  const Latecomers& latecomers(size_t kind) const { return kind == kAtFile ? at_file : late; }
  int64_t all_waited() const;
};

struct RankSums {
  int rank = 0;
  int64_t whole = 0, in_mpi = 0, waiting = 0;
  int64_t overlapped = 0, exposed = 0;  // RankProfile's
  int64_t for_files = 0;                // of the waiting: for others that were at a file
  int64_t computing() const { return whole > in_mpi ? whole - in_mpi : 0; }
};

struct ProfileSums {
  std::vector<RankSums> ranks;                                       // by rank
  std::vector<PlaceSums> places;                                     // those that took longest first
  std::vector<uint64_t> sent, sent_bytes, received, received_bytes;  // by length
  int64_t clock_error = -1;   // nanoseconds, between nodes; -1: the ranks compared are of one node each
  size_t unknown_clocks = 0;  // nodes whose clocks nothing compares to that of the first one
  int unended = 0;            // ranks that did not come to the end of MPI_Finalize
  uint64_t lost_sites = 0;
  FileSums read, written;
  uint64_t file_unit = 0;  // the largest of a rank
};

ProfileSums sums_of(const std::vector<RankProfile>& ranks);

}  // namespace tutti::launcher
