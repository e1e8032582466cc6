// SPDX-License-Identifier: BSD-3-Clause
// What the programs have in common in which ranks kill themselves.
#pragma once

#include <mpi-ext.h>
#include <signal.h>

#include "check.hpp"

namespace dying {

// All ranks of the communicator call it; the one of this number kills itself when the others have come so far, so that
// none of them is still in a call before this one.
inline void fails(MPI_Comm comm, int victim) {
  constexpr int kTag = 4711;
  int rank = 0, size = 0, word = 0;
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_size(comm, &size));
  if (rank != victim) {
    OK(MPI_Send(&word, 1, MPI_INT, victim, kTag, comm));
    return;
  }
  for (int i = 1; i < size; ++i) OK(MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, kTag, comm, MPI_STATUS_IGNORE));
  ::raise(SIGKILL);
  std::abort();
}

}  // namespace dying
