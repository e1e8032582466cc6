/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 looks into the memory of the others, which do nothing for it. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, size, *mine, sum = 0;
  MPI_Win win;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                   &mine, &win);
  /* A lock is wanted around the program's own stores as well. */
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  *mine = 10 * rank;
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    for (int r = 0; r < size; r++) {
      int value;
      MPI_Win_lock(MPI_LOCK_SHARED, r, 0, win);
      MPI_Get(&value, 1, MPI_INT, r, 0, 1, MPI_INT, win);
      MPI_Win_unlock(r, win); /* not before this the value is there */
      sum += value;
    }
    printf("the sum is %d\n", sum);
  }
  MPI_Win_free(&win);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   the sum is 30 */
