// SPDX-License-Identifier: BSD-3-Clause
// The arguments of the collectives, from what the entry points have checked one by one to a call:
// what must fit together, and what is significant on this rank. Nothing is signed or started yet.
#pragma once

#include "mpi/coll/arguments.hpp"
#include "mpi/coll/collective_start.hpp"

namespace tutti::mpi {

// The call that they make. Errors: what does not fit together, by the standard's classes.
Result<ResolvedCall> resolve_call(const Arguments& given, Comm& comm);

}  // namespace tutti::mpi
