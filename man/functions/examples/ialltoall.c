/* SPDX-License-Identifier: BSD-3-Clause */
/* A transposition in two halves: while the second one travels, the first is worked on. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  int rank, size, sum = 0;
  MPI_Request request[2];
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int *row[2], *column[2];
  for (int half = 0; half < 2; half++) {
    row[half] = malloc(size * sizeof(int)),
    column[half] = malloc(size * sizeof(int));
    for (int r = 0; r < size; r++)
      row[half][r] = 100 * half + 10 * rank + r;
    MPI_Ialltoall(row[half], 1, MPI_INT, column[half], 1, MPI_INT,
                  MPI_COMM_WORLD, &request[half]);
  }
  for (int half = 0; half < 2; half++) {
    MPI_Wait(&request[half], MPI_STATUS_IGNORE);
    for (int r = 0; r < size; r++) sum += column[half][r];
    free(row[half]), free(column[half]);
  }
  printf("rank %d: %d\n", rank, sum);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0: 360
   rank 1: 366
   rank 2: 372 */
