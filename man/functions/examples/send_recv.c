/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 sends an array to rank 1. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank;
  double values[100];
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    for (int i = 0; i < 100; i++) values[i] = i;
    MPI_Send(values, 100, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Recv(values, 100, MPI_DOUBLE, 0, 7, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    printf("the last value is %g\n", values[99]);
  }
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   the last value is 99 */
