// SPDX-License-Identifier: BSD-3-Clause
// What a program calls to go on after the failure of a process (mpi-ext.h; no part of MPI 5.0). A job ends when one of its
// ranks fails, so that nobody has ever failed whom these calls could tell of: an agreement is a reduction, and a
// communicator shrinks to all of its ranks. To revoke one is refused.
#pragma once

#include "mpi/comm/comm.hpp"

namespace tutti::mpi::surviving {

// Whom this rank knows to have failed, in the order in which it has heard of them; and how many of these, from the first
// on, the program knows of.
Error comm_get_failed(Comm& comm, MPI_Group* failedgrp);
Error comm_ack_failed(Comm& comm, int num_to_ack, int* num_acked);
Error comm_failure_ack(Comm& comm);
Error comm_failure_get_acked(Comm& comm, MPI_Group* failedgrp);

Error comm_revoke(Comm& comm);
Error comm_is_revoked(Comm& comm, int* flag);

// Collective: the bitwise AND of what all ranks give, or, between two groups, of what those of the other one do.
Error comm_agree(Comm& comm, int* flag);
Error comm_iagree(Comm& comm, int* flag, MPI_Request* request);

// Collective: a communicator, between two groups if `comm` is, of those who live, in their order, without attributes.
Error comm_shrink(Comm& comm, MPI_Comm* newcomm);
Error comm_ishrink(Comm& comm, MPI_Comm* newcomm, MPI_Request* request);

}  // namespace tutti::mpi::surviving
