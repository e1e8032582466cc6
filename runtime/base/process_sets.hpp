// SPDX-License-Identifier: BSD-3-Clause
// Named sets of a job's ranks as text, which mpirun is given, and hands on to the ranks:
// "left:0-3,8;right:4-7". The name ends at the last colon, since names may look like addresses.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tutti {

struct ProcessSet {
  std::string name;
  std::vector<int> ranks;  // at least one, each once, in the order in which they were given
};

inline constexpr const char* kProcessSetsVariable = "TUTTI_PSETS";
inline constexpr const char* kSocketRanksVariable = "TUTTI_SOCKET_RANKS";  // "0-3", those of one socket
// Where each rank of the node is bound, in their order: "0.0.1.4,0.0.1.5", its socket, NUMA node, L3 and L2 cache; "-" for
// a level of which it is on none alone. Not there where that tells no two ranks apart.
inline constexpr const char* kNodePlacesVariable = "TUTTI_NODE_PLACES";

// What else mpirun hands on for the library: --memory-alloc-kinds and --initial-errhandler.
inline constexpr const char* kMemoryKindsVariable = "TUTTI_MEMORY_ALLOC_KINDS";
inline constexpr const char* kInitialErrhandlerVariable = "TUTTI_INITIAL_ERRHANDLER";

// "0-3,8" of a job of that many ranks; nullopt if it is no such list.
std::optional<std::vector<int>> parse_ranks(std::string_view list, int job_size);
Result<std::vector<ProcessSet>> parse_process_sets(std::string_view text, int job_size);
std::string ranks_as_text(const std::vector<int>& ranks);

}  // namespace tutti
