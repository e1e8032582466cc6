// SPDX-License-Identifier: BSD-3-Clause
// What a launcher that MPI_Comm_spawn has started tells by its exit code, and is told by its environment.
#pragma once

#include <string_view>

namespace tutti {

// Nothing was started: the nodes have fewer slots than are asked for, and may not be used beyond them. Fewer processes
// may do.
inline constexpr int kTooFewSlotsExitCode = 75;

// Whether a variable, "NAME=value", is of one job alone, and says something wrong in one that it spawns.
inline bool is_of_one_job(std::string_view pair) {
  for (const std::string_view prefix :
       {"PMIX_", "PMI_",
        "TUTTI_JOB=", "TUTTI_OWNER=", "TUTTI_NODE_CORES=", "TUTTI_LAUNCHER=", "TUTTI_ALLOCATION=", "TUTTI_JOB_FOLDER=",
        "TUTTI_APPNUM=", "TUTTI_PARENT=", "TUTTI_PARENT_SOCKET=", "TUTTI_SPAWNED_BY=", "TUTTI_INITIAL_ERRHANDLER=",
        "TUTTI_PSETS=", "TUTTI_SOCKET_RANKS=", "TUTTI_NODE_PLACES=", "TUTTI_MEMORY_ALLOC_KINDS="})
    if (pair.starts_with(prefix) && !pair.starts_with("PMIX_MCA_")) return true;
  return false;
}

}  // namespace tutti
