/* SPDX-License-Identifier: BSD-3-Clause */
/* The largest error of all ranks decides on all of them whether to go on. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, steps = 0;
  double error;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  do {
    steps++;
    error = (rank + 1.0) / (1 << steps);
    MPI_Allreduce(MPI_IN_PLACE, &error, 1, MPI_DOUBLE, MPI_MAX,
                  MPI_COMM_WORLD);
  } while (error > 0.01);
  printf("rank %d: %d steps, error %g\n", rank, steps, error);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   rank 0: 8 steps, error 0.0078125
   rank 1: 8 steps, error 0.0078125 */
