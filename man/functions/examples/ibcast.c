/* SPDX-License-Identifier: BSD-3-Clause */
/* The parameters travel while each rank prepares what does not need them. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  enum { N = 1000 };
  int rank;
  double factor = 0, sum = 0, grid[N];
  MPI_Request request;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) factor = 0.5;
  MPI_Ibcast(&factor, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD, &request);
  for (int i = 0; i < N; i++) grid[i] = rank + 1;
  MPI_Wait(&request, MPI_STATUS_IGNORE); /* from here on it may be read */
  for (int i = 0; i < N; i++) sum += factor * grid[i];
  printf("rank %d: %g\n", rank, sum);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0: 500
   rank 1: 1000
   rank 2: 1500 */
