// SPDX-License-Identifier: BSD-3-Clause
// Of events, what the other parts of the tool information interface ask.
#pragma once

namespace tutti::mpi::tool {

// This thread is in a tool's callback, which was called with the engine owned.
bool& in_event();

}  // namespace tutti::mpi::tool
