/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rank adds to all entries of a vector; of the sum each gets its part, and the parts are not of one length. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  enum { N = 10 };
  int rank, size;
  double all[N], mine[N];
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int *counts = malloc(size * sizeof *counts);
  for (int r = 0; r < size; r++) counts[r] = N / size + (r < N % size);
  for (int i = 0; i < N; i++) all[i] = i;
  MPI_Reduce_scatter(all, mine, counts, MPI_DOUBLE, MPI_SUM,
                     MPI_COMM_WORLD);
  printf("rank %d: %d entries from %g on\n", rank, counts[rank], mine[0]);
  free(counts);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0: 4 entries from 0 on
   rank 1: 3 entries from 12 on
   rank 2: 3 entries from 21 on */
