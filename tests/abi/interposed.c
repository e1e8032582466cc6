/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls what interposer.c counts, and much that it does not, some of which the library could be
 * tempted to make out of the former. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank, size, i, sum = 0, got = 0;
  MPI_Request request;
  MPI_Comm twin;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (i = 0; i < 3; ++i) {
    MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, i, MPI_COMM_WORLD, &request);
    MPI_Send(&i, 1, MPI_INT, (rank + 1) % size, i, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (got != i) return 1;
  }
  for (i = 0; i < 2; ++i) MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 9, &got, 1, MPI_INT, (rank + size - 1) % size, 9, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Comm_dup(MPI_COMM_WORLD, &twin);
  MPI_Barrier(twin);
  MPI_Bcast(&got, 1, MPI_INT, 0, twin);
  MPI_Reduce(&rank, &got, 1, MPI_INT, MPI_SUM, 0, twin);
  MPI_Comm_free(&twin);
  MPI_Finalize();
  return sum != size * (size - 1) / 2;
}
