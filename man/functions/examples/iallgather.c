/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks learn the numbers of all, first how many each has, then, while they look after other things, the numbers. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  int rank, size, n, total = 0, mine[64];
  MPI_Request request;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int *counts = malloc(size * sizeof *counts),
      *displs = malloc(size * sizeof *displs);
  n = 1 + rank % 64;
  MPI_Iallgather(&n, 1, MPI_INT, counts, 1, MPI_INT, MPI_COMM_WORLD,
                 &request);
  for (int i = 0; i < n; i++) mine[i] = 10 * rank + i;
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int r = 0; r < size; r++) displs[r] = total, total += counts[r];
  int *all = malloc(total * sizeof *all);
  MPI_Iallgatherv(mine, n, MPI_INT, all, counts, displs, MPI_INT,
                  MPI_COMM_WORLD, &request);
  /* work that needs none of all would be here; counts and displs must stay */
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  printf("rank %d: %d numbers, the last is %d\n", rank, total,
         all[total - 1]);
  free(counts), free(displs), free(all);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0: 6 numbers, the last is 22
   rank 1: 6 numbers, the last is 22
   rank 2: 6 numbers, the last is 22 */
