/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank of all becomes the first: who finds the place empty. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, *place, nobody = -1, before, won, winners;
  MPI_Win win;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate(rank == 0 ? sizeof(int) : 0, sizeof(int), MPI_INFO_NULL,
                   MPI_COMM_WORLD, &place, &win);
  if (rank == 0) *place = nobody;
  MPI_Win_fence(0, win);
  MPI_Compare_and_swap(&rank, &nobody, &before, MPI_INT, 0, 0, win);
  MPI_Win_fence(0, win);
  won = before == nobody;
  MPI_Reduce(&won, &winners, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("winners: %d\n", winners);
  MPI_Win_free(&win);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   winners: 1 */
