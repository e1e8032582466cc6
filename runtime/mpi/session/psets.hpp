// SPDX-License-Identifier: BSD-3-Clause
// Process sets: the names that a program may make a group of, as long as there is a session. Those
// of the standard, those of this process' node, and those that the launcher was told of.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tutti::mpi {

struct PsetOfRanks {
  std::string name;
  std::shared_ptr<const std::vector<int>> ranks;  // of the job, in the order of the set
};

// In the order in which MPI_Session_get_nth_pset counts them, the same in each call.
const std::vector<PsetOfRanks>& psets();
// nullptr: there is none. Names are compared without regard to case, as addresses are.
const PsetOfRanks* find_pset(std::string_view name);

// "left:0-3,8;right:4-7", as the launcher hands its sets on. Sets with a rank that the job does not
// have are an error of the launcher's.
Result<std::vector<PsetOfRanks>> parse_psets(std::string_view text, int job_size);

}  // namespace tutti::mpi
