/* SPDX-License-Identifier: BSD-3-Clause */
/* A vector is summed over all ranks, and each rank keeps its element of the sum. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  int rank, size, mine;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int *vector = malloc(size * sizeof *vector);
  for (int i = 0; i < size; i++) vector[i] = 10 * rank + i;
  MPI_Reduce_scatter_block(vector, &mine, 1, MPI_INT, MPI_SUM,
                           MPI_COMM_WORLD);
  printf("rank %d has %d\n", rank, mine);
  free(vector);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0 has 30
   rank 1 has 33
   rank 2 has 36 */
