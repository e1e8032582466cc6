// SPDX-License-Identifier: BSD-3-Clause
// What a transport is told of the ends of other processes.
#pragma once

namespace tutti::transport {

// Nothing is awaited any more of those that may be gone from here on: the lines that UCX writes about it, on messages and
// connections under way to them, are left out. All of them are peers that have called MPI_Finalize, or are of other
// jobs, whose ends the program is told of.
void say_no_ucx_errors();
bool says_ucx_errors();  // until then

}  // namespace tutti::transport
