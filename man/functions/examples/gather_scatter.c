/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 deals out an array, each rank works on its block, rank 0 gathers the blocks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  enum { EACH = 4 };
  int rank, size, block[EACH], *all = NULL;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) {
    all = malloc(EACH * size * sizeof *all);
    for (int i = 0; i < EACH * size; i++) all[i] = i;
  }
  MPI_Scatter(all, EACH, MPI_INT, block, EACH, MPI_INT, 0, MPI_COMM_WORLD);
  for (int i = 0; i < EACH; i++) block[i] *= 10;
  /* The counts are those of one block, on the root as well. */
  MPI_Gather(block, EACH, MPI_INT, all, EACH, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%d %d ... %d\n", all[0], all[1], all[EACH * size - 1]);
  free(all);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   0 10 ... 110 */
