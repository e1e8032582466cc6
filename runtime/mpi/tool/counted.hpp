// SPDX-License-Identifier: BSD-3-Clause
// What performance variables read, and their handles switch on.
#pragma once

#include <memory>

#include "mpi/object/entry_guard.hpp"
#include "transport/counting.hpp"

namespace tutti::mpi::tool {

inline bool running() {
  return phase.load() == Phase::running;
}

// Counts messages by peer while a handle wants it; nullptr: none has wanted it yet.
std::unique_ptr<transport::Counting>& counting();

}  // namespace tutti::mpi::tool
