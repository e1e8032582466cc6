/* SPDX-License-Identifier: BSD-3-Clause */
/* In each step another number for all, from rank 0, by a broadcast that is prepared once. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, step_size = 0, way = 0;
  MPI_Request request;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Bcast_init(&step_size, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                 &request);
  for (int step = 1; step <= 4; step++) {
    if (rank == 0) step_size = step * step; /* it is not under way now */
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    way += step_size;
  }
  MPI_Request_free(&request);
  printf("rank %d has gone %d\n", rank, way);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   rank 0 has gone 30
   rank 1 has gone 30 */
