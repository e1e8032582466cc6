/* SPDX-License-Identifier: BSD-3-Clause */
/* The same sum in each step: prepared once, and started as often as it is wanted. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, size;
  double mine, sum;
  MPI_Request request;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce_init(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
                     MPI_INFO_NULL, &request);
  mine = 8.0 * rank;
  for (int step = 0; step < 3; step++) {
    MPI_Start(&request);
    /* work that needs no sum would be here */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    mine = (mine + sum / size) / 2;
  }
  MPI_Request_free(&request);
  printf("rank %d: %g\n", rank, mine);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0: 7
   rank 1: 8
   rank 2: 9 */
