// SPDX-License-Identifier: BSD-3-Clause
// Partitioned communication (the standard, chapter 4): a message whose parts are handed over one by
// one, from any thread. The calls that make it are local; both sides match in the order of these
// calls, and with partitioned operations alone. Wildcards are refused. A partition may be
// anybody's: MPI_Pready and MPI_Parrived are called by any thread.
#pragma once

#include "mpi/comm/comm.hpp"
#include "mpi/type/datatype.hpp"

namespace tutti::mpi::partitioned {

Error psend_init(const void* buf, int partitions, int64_t count, Datatype& type, int dest, int tag, Comm& comm,
                 Info* info, MPI_Request* request);
Error precv_init(void* buf, int partitions, int64_t count, Datatype& type, int source, int tag, Comm& comm, Info* info,
                 MPI_Request* request);
Error pready(int partition, MPI_Request request);
Error pready_range(int low, int high, MPI_Request request);
Error pready_list(int length, const int* partitions, MPI_Request request);
Error parrived(MPI_Request request, int partition, int* flag);

}  // namespace tutti::mpi::partitioned
