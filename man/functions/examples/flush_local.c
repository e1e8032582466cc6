/* SPDX-License-Identifier: BSD-3-Clause */
/* One buffer for many messages: it may be filled again as soon as it has gone, wherever the message is. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, size, *mine, number, sum = 0;
  MPI_Win win;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Win_allocate(size * sizeof(int), sizeof(int), MPI_INFO_NULL,
                   MPI_COMM_WORLD, &mine, &win);
  MPI_Win_lock_all(0, win);
  for (int r = 0; r < size; r++) {
    number = 10 * rank + r;
    MPI_Put(&number, 1, MPI_INT, r, rank, 1, MPI_INT, win);
    MPI_Win_flush_local(r, win);
  }
  MPI_Win_flush_all(win); /* all is there */
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(win);
  for (int r = 0; r < size; r++) sum += mine[r];
  MPI_Win_unlock_all(win);
  printf("rank %d: %d\n", rank, sum);
  MPI_Win_free(&win);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0: 30
   rank 1: 33
   rank 2: 36 */
