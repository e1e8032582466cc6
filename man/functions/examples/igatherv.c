/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 deals out a list and gets it back worked on, in parts of different lengths. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  enum { N = 7 };
  int rank, size, list[N], part[N];
  MPI_Request request;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int *counts = malloc(size * sizeof *counts),
      *displs = malloc(size * sizeof *displs);
  for (int r = 0; r < size; r++) {
    displs[r] = r * N / size;
    counts[r] = (r + 1) * N / size - displs[r];
  }
  for (int i = 0; i < N; i++) list[i] = rank == 0 ? i + 1 : 0;
  MPI_Iscatterv(list, counts, displs, MPI_INT, part, counts[rank], MPI_INT,
                0, MPI_COMM_WORLD, &request);
  /* what prepares the work would be here */
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < counts[rank]; i++) part[i] *= part[i];
  MPI_Igatherv(part, counts[rank], MPI_INT, list, counts, displs, MPI_INT,
               0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == 0) printf("%d %d ... %d\n", list[0], list[1], list[N - 1]);
  free(counts), free(displs);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   1 4 ... 49 */
