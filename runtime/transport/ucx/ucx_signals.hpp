// SPDX-License-Identifier: BSD-3-Clause
// Signals of faults are not UCX's.
#pragma once

namespace tutti::transport {

// When the library is loaded the signals of a crash are given back by UCX, which takes them as soon as it is loaded
// itself, and go to base/os/crash_handler.hpp; unless the user has told UCX what to do with them (UCX_ERROR_SIGNALS,
// UCX_HANDLE_ERRORS). Here, in a process that begins MPI: it is a rank.
void watch_faults();

}  // namespace tutti::transport
