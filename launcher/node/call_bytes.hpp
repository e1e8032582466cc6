// SPDX-License-Identifier: BSD-3-Clause
// How many bytes the calls of a rank name in their arguments, of what the flight record keeps: count times datatype, of sends
// and of receives, of a collective what this rank gives or takes (for or from one other rank, where it has a block for each).
// A reader's estimate, which asks nothing of the rank. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "base/flight.hpp"

namespace tutti::launcher {

// The mean of calls, those without data included; -1: some are of a datatype that the program has made, whose size only it
// knows, or there are none.
int64_t bytes_a_call(std::span<const flight::CallRecord> calls);

}  // namespace tutti::launcher
