// SPDX-License-Identifier: BSD-3-Clause
// For tests that judge by the clock: whether a rank has its core to itself.
#pragma once

#include <ctime>

#include "check.hpp"

namespace check {

// Whether other programs hold cores that the ranks of comm would use, no more of them than cores: on one
// of them time passes faster than the rank is given it.
inline bool cores_are_shared(MPI_Comm comm) {
  const auto given = [] {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
  };
  OK(MPI_Barrier(comm));
  const double began = seconds(), given_before = given();
  while (seconds() - began < 20e-3) {
  }
  int shared = given() - given_before < 17e-3;
  OK(MPI_Allreduce(MPI_IN_PLACE, &shared, 1, MPI_INT, MPI_MAX, comm));
  return shared;
}

}  // namespace check
