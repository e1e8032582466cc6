// SPDX-License-Identifier: BSD-3-Clause
// Of events, what the other parts of the tool information interface ask.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi/tool/tool.hpp"

namespace tutti::mpi::tool {

// This thread is in a tool's callback, which was called with the engine owned.
bool in_event();

// Events are counted from now on, or no more; and how many of them there were, in the order of life::Happening.
void count_events(bool on) TUTTI_REQUIRES(mutex());
uint64_t events_counted(size_t happening);

}  // namespace tutti::mpi::tool
