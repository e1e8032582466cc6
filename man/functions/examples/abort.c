/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that cannot go on ends the whole job: the others would wait for it for ever. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    FILE *input = fopen("no_such_folder/input.txt", "r");
    if (!input) {
      printf("there is no input\n");
      fflush(stdout); /* MPI_Abort need not */
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD); /* the others wait here */
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order, and ends with exit code 3:
   there is no input */
