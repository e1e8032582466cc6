/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 knows the parameters, and tells all. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank;
  double parameters[2] = {0, 0};
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    parameters[0] = 0.5;
    parameters[1] = 1e-6;
  }
  MPI_Bcast(parameters, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  printf("rank %d: step %g, tolerance %g\n", rank, parameters[0],
         parameters[1]);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0: step 0.5, tolerance 1e-06
   rank 1: step 0.5, tolerance 1e-06
   rank 2: step 0.5, tolerance 1e-06 */
