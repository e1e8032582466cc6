/* SPDX-License-Identifier: BSD-3-Clause */
/* Ten numbers on three ranks: as evenly as can be, and together again on all. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  enum { N = 10 };
  int rank, size, all[N], again[N];
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int *counts = malloc(size * sizeof *counts),
      *displs = malloc(size * sizeof *displs);
  for (int r = 0, at = 0; r < size; r++) {
    counts[r] = N / size + (r < N % size);
    displs[r] = at;
    at += counts[r];
  }
  if (rank == 0)
    for (int i = 0; i < N; i++) all[i] = i * i;
  int *mine = malloc(counts[rank] * sizeof *mine);
  MPI_Scatterv(all, counts, displs, MPI_INT, mine, counts[rank], MPI_INT, 0,
               MPI_COMM_WORLD);
  printf("rank %d: %d to %d\n", rank, mine[0], mine[counts[rank] - 1]);
  MPI_Allgatherv(mine, counts[rank], MPI_INT, again, counts, displs,
                 MPI_INT, MPI_COMM_WORLD);
  if (rank == size - 1) printf("the last one is %d\n", again[N - 1]);
  free(mine), free(counts), free(displs);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0: 0 to 9
   rank 1: 16 to 36
   rank 2: 49 to 81
   the last one is 81 */
