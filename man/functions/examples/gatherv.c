/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank r has r + 1 numbers; rank 0 gathers them all. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  int rank, size, total = 0;
  int *counts = NULL, *displs = NULL, *all = NULL;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int mine = rank + 1;
  int *numbers = malloc(mine * sizeof *numbers);
  for (int i = 0; i < mine; i++) numbers[i] = rank;
  if (rank == 0) {
    counts = malloc(size * sizeof *counts);
    displs = malloc(size * sizeof *displs);
  }
  MPI_Gather(&mine, 1, MPI_INT, counts, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    for (int r = 0; r < size; r++) {
      displs[r] = total;
      total += counts[r];
    }
    all = malloc(total * sizeof *all);
  }
  MPI_Gatherv(numbers, mine, MPI_INT, all, counts, displs, MPI_INT, 0,
              MPI_COMM_WORLD);
  for (int i = 0; i < total; i++)
    printf("%d%s", all[i], i + 1 < total ? " " : "\n");
  free(numbers), free(counts), free(displs), free(all);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   0 1 1 2 2 2 */
