/* SPDX-License-Identifier: BSD-3-Clause */
/* A square of numbers, a row on each rank, becomes its transpose. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  int rank, size;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int *row = malloc(size * sizeof *row),
      *column = malloc(size * sizeof *column);
  for (int j = 0; j < size; j++) row[j] = 10 * rank + j;
  MPI_Alltoall(row, 1, MPI_INT, column, 1, MPI_INT, MPI_COMM_WORLD);
  printf("rank %d: %d ... %d\n", rank, column[0], column[size - 1]);
  free(row), free(column);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0: 0 ... 20
   rank 1: 1 ... 21
   rank 2: 2 ... 22 */
