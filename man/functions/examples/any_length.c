/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rank sends as many numbers as it has; rank 0 asks how many before it receives. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  int rank, size, count;
  MPI_Status status;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank > 0) {
    double *mine = calloc(10 * rank, sizeof *mine);
    MPI_Send(mine, 10 * rank, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    free(mine);
  } else {
    for (int r = 1; r < size; r++) {
      MPI_Probe(r, 0, MPI_COMM_WORLD,
                &status); /* the message stays where it is */
      MPI_Get_count(&status, MPI_DOUBLE, &count);
      double *theirs = malloc(count * sizeof *theirs);
      MPI_Recv(theirs, count, MPI_DOUBLE, r, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
      printf("%d numbers from rank %d\n", count, r);
      free(theirs);
    }
  }
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   10 numbers from rank 1
   20 numbers from rank 2 */
