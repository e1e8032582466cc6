// SPDX-License-Identifier: BSD-3-Clause
// Hints of MPI_Comm_spawn that say which processes are asked for, before a launcher hears of them: `file`, which holds
// further hints, and `soft`, the numbers of processes that will do (the standard, section 11.8.4).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "mpi/process/launch.hpp"

namespace tutti::mpi::processes {

// Adds what the file says that the hint `file` names: a line `key = value` each; blank lines and what is behind a '#' at
// the beginning of a line say nothing. What the info itself says comes first.
Error add_hints_of_file(Command& command);

// Numbers of processes that will do, the largest first, none above what is asked for: those of the hint `soft`, or the
// one that is asked for.
Result<std::vector<int>> numbers_that_will_do(const Command& command);

}  // namespace tutti::mpi::processes
