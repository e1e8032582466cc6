/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 gets the error of this step while the ranks are in the next one, and prints it then. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  enum { STEPS = 3 };
  int rank;
  double error[STEPS], largest[STEPS];
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int step = 0; step < STEPS; step++) {
    error[step] = (rank + 1.0) / (1 << step); /* the step would be here */
    MPI_Wait(&request,
             MPI_STATUS_IGNORE); /* at first there is nothing to wait for */
    if (rank == 0 && step > 0)
      printf("step %d: %g\n", step, largest[step - 1]);
    MPI_Ireduce(&error[step], &largest[step], 1, MPI_DOUBLE, MPI_MAX, 0,
                MPI_COMM_WORLD, &request);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == 0) printf("step %d: %g\n", STEPS, largest[STEPS - 1]);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   step 1: 3
   step 2: 1.5
   step 3: 0.75 */
