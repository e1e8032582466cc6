// SPDX-License-Identifier: BSD-3-Clause
// What the standard forbids, and every MPI that programs have met carries out: it is warned of once and
// done, and only --check=strict makes an error of it. Refuses what could give wrong results: that
// is an error at every level.
#pragma once

#include "base/result.hpp"
#include "mpi/object/error.hpp"

namespace tutti::mpi {

enum class Tolerated : uint8_t {
  one_byte_types,       // bytes under the name of characters or one-byte integers, as other types
  one_sided_edges,      // a distributed graph with an edge that one of its ends alone names
  undefined_operation,  // an operation that the type does not have, on no elements
  swapped_characters,   // MPI_Compare_and_swap on MPI_CHAR
};

// The error under --check=strict. Otherwise none, and this process' first one of the kind is told as a
// warning, with all that this thread has mentioned; with --check=off nothing is said. `on`: as for
// story_of(). `tells`: false where another rank says the same of the same call. Any thread.
Error tolerated(Tolerated kind, Error error, const HasErrhandler* on = nullptr, bool tells = true);
// Nothing will be said of the kind any more, nor anything be made an error of it.
bool is_told(Tolerated kind);

}  // namespace tutti::mpi
