// SPDX-License-Identifier: BSD-3-Clause
// What a launcher that MPI_Comm_spawn has started tells by its exit code.
#pragma once

namespace tutti {

// Nothing was started: the nodes have fewer slots than are asked for, and may not be used beyond them. Fewer processes
// may do.
inline constexpr int kTooFewSlotsExitCode = 75;

}  // namespace tutti
