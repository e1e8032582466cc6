/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rank learns how much all others have. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  int rank, size;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int mine = 100 + rank, *all = malloc(size * sizeof *all);
  MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
  printf("rank %d: the last one has %d\n", rank, all[size - 1]);
  free(all);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0: the last one has 102
   rank 1: the last one has 102
   rank 2: the last one has 102 */
