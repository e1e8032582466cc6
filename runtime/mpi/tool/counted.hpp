// SPDX-License-Identifier: BSD-3-Clause
// What performance variables read, and their handles switch on.
#pragma once

#include "mpi/object/entry_guard.hpp"
#include "transport/counting.hpp"

namespace tutti::mpi::tool {

inline bool running() {
  return current.phase.load() == Phase::running;
}

// Counts messages by peer while a handle wants it; nullptr: none has wanted it yet, or MPI has not been initialized.
transport::Counting* counting();

}  // namespace tutti::mpi::tool
