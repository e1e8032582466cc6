/* SPDX-License-Identifier: BSD-3-Clause */
/* All ranks add to one array on rank 0 at once. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, *bins, hit[4] = {0};
  MPI_Win win;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate(rank == 0 ? sizeof hit : 0, sizeof(int), MPI_INFO_NULL,
                   MPI_COMM_WORLD, &bins, &win);
  if (rank == 0)
    for (int i = 0; i < 4; i++) bins[i] = 0;
  for (int i = 0; i < 100; i++) hit[i * (rank + 1) % 4]++;
  MPI_Win_fence(0, win);
  MPI_Accumulate(hit, 4, MPI_INT, 0, 0, 4, MPI_INT, MPI_SUM, win);
  MPI_Win_fence(0, win);
  if (rank == 0)
    printf("%d %d %d %d\n", bins[0], bins[1], bins[2], bins[3]);
  MPI_Win_free(&win);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   100 50 100 50 */
