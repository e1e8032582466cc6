/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks take pieces of work from a counter that they share. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  enum { PIECES = 20 };
  int rank, *counter, one = 1, piece, done = 0, all;
  MPI_Win win;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate(rank == 0 ? sizeof(int) : 0, sizeof(int), MPI_INFO_NULL,
                   MPI_COMM_WORLD, &counter, &win);
  MPI_Win_lock_all(0, win);
  if (rank == 0) {
    int zero = 0, before;
    MPI_Fetch_and_op(&zero, &before, MPI_INT, 0, 0, MPI_REPLACE, win);
    MPI_Win_flush(0, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (;;) {
    MPI_Fetch_and_op(&one, &piece, MPI_INT, 0, 0, MPI_SUM, win);
    MPI_Win_flush(0, win); /* now piece is there */
    if (piece >= PIECES) break;
    done++; /* the work would be here */
  }
  MPI_Win_unlock_all(win);
  MPI_Reduce(&done, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d pieces were done\n", all);
  MPI_Win_free(&win);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   20 pieces were done */
