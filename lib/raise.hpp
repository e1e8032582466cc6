// SPDX-License-Identifier: BSD-3-Clause
// The one place where an error leaves the library: through the error handler of an object, then as
// the value that the entry point returns.
#pragma once

#include "base/result.hpp"
#include "mpi/object/error.hpp"
#include "mpi/object/incident.hpp"

namespace tutti::lib {

// Calls the error handler of `on` (nullptr: of MPI_COMM_SELF, the standard, section 9.3) with
// "MPI_Send: …"; returns the error's class if the handler returns.
int raise(mpi::CallSite place, mpi::HasErrhandler* on, Error error) noexcept;

}  // namespace tutti::lib
