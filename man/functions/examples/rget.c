/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 looks into the memory of all others, and adds what has come while the rest is under way. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  enum { MOST = 64 };
  int rank, size, *mine, theirs[MOST], which, sum = 0;
  MPI_Request request[MOST];
  MPI_Win win;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > MOST) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                   &mine, &win);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  *mine = 5 * rank;
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Win_lock_all(0, win);
    for (int r = 0; r < size; r++)
      MPI_Rget(&theirs[r], 1, MPI_INT, r, 0, 1, MPI_INT, win, &request[r]);
    for (int i = 0; i < size; i++) {
      MPI_Waitany(size, request, &which, MPI_STATUS_IGNORE);
      sum += theirs[which];
    }
    MPI_Win_unlock_all(win);
    printf("the sum is %d\n", sum);
  }
  MPI_Win_free(&win);
  MPI_Finalize();
}

/* mpirun -n 4 prints, in some order:
   the sum is 30 */
