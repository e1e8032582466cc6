/* SPDX-License-Identifier: BSD-3-Clause */
/* Loaded before a program's libraries: rank 3 takes two milliseconds longer before each MPI_Iallreduce. The call is handed on
 * by a jump (-O2), so that it comes from the program's own line. */
#include <mpi.h>
#include <unistd.h>

int MPI_Iallreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                   MPI_Request* request) {
  static int rank = -1;
  if (rank < 0) PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 3) usleep(2000);
  return PMPI_Iallreduce(sendbuf, recvbuf, count, datatype, op, comm, request);
}
