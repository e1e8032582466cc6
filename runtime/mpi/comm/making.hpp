// SPDX-License-Identifier: BSD-3-Clause
// How communicators are made out of others: what the calls of other chapters that make some share.
#pragma once

#include "functions.hpp"
#include "mpi/comm/comm.hpp"

namespace tutti::mpi {

// Collective. The ranks that give the same color, which is not negative or MPI_UNDEFINED, get a communicator of
// their own, in the order of key and of their rank; those that give MPI_UNDEFINED get MPI_COMM_NULL.
// `function`: the program's call, which all must have made.
Error divide(Comm& comm, Function function, int color, int key, MPI_Comm* newcomm);

// Waits until nothing of the program's is under way on a communicator.
void await_communication(Comm& comm);
// What MPI_Comm_free does, for the program's call of `function`.
Error free_communicator(MPI_Comm* comm, Function function);

}  // namespace tutti::mpi
