// SPDX-License-Identifier: BSD-3-Clause
// Duplicates of communicators that come with a request (the standard, section 7.4.2).
#pragma once

#include "mpi/comm/api_comm.hpp"

namespace tutti::mpi {

Error comm_idup(Comm& comm, MPI_Comm* newcomm, MPI_Request* request);
Error comm_idup_with_info(Comm& comm, Info* info, MPI_Comm* newcomm, MPI_Request* request);

}  // namespace tutti::mpi
