/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps in which rank 0 must not be ahead of rank 1: each prepared send is complete when it is being received. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, step, got, sum = 0;
  MPI_Request request;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    MPI_Ssend_init(&step, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
    for (step = 1; step <= 4; step++) {
      MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
  } else if (rank == 1) {
    for (int i = 0; i < 4; i++) {
      MPI_Recv(&got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      sum += got;
    }
    printf("the sum of the steps is %d\n", sum);
  }
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   the sum of the steps is 10 */
