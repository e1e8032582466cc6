// SPDX-License-Identifier: BSD-3-Clause
// Process sets: the names by which a session makes groups, and MPI_Comm_split_type communicators. Those of the
// standard, those of this process' node, and those that the launcher was told of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/process_list.hpp"

namespace tutti::mpi {

struct PsetOfRanks {
  std::string name;
  ProcessList ranks;  // of the job, in the order of the set
};

// In the order in which MPI_Session_get_nth_pset counts them, the same in each call.
const std::vector<PsetOfRanks>& psets();
// nullptr: there is none. Names are compared without regard to case, as addresses are.
const PsetOfRanks* find_pset(std::string_view name);

}  // namespace tutti::mpi
