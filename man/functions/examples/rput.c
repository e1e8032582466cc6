/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank writes to all others, and takes its buffers back one by one as they are free. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  enum { MOST = 64 };
  int rank, size, *inbox, letter[MOST], sum = 0;
  MPI_Request request[MOST];
  MPI_Win win;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > MOST) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Win_allocate(size * sizeof(int), sizeof(int), MPI_INFO_NULL,
                   MPI_COMM_WORLD, &inbox, &win);
  MPI_Win_lock_all(0, win);
  for (int r = 0; r < size; r++) {
    letter[r] = 10 * rank + r;
    MPI_Rput(&letter[r], 1, MPI_INT, r, rank, 1, MPI_INT, win, &request[r]);
  }
  for (int r = 0; r < size; r++) {
    MPI_Wait(&request[r], MPI_STATUS_IGNORE);
    letter[r] = 0; /* it has gone, which does not say that it is there */
  }
  MPI_Win_unlock_all(win); /* now it is there */
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  for (int r = 0; r < size; r++) sum += inbox[r];
  MPI_Win_unlock(rank, win);
  printf("rank %d: %d\n", rank, sum);
  MPI_Win_free(&win);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0: 30
   rank 1: 33
   rank 2: 36 */
