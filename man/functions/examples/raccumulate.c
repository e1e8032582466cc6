/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rank adds its part to a sum on rank 0 and has its buffer back before the epoch ends. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank;
  double *sum, part;
  MPI_Request request;
  MPI_Win win;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate(rank == 0 ? sizeof(double) : 0, sizeof(double),
                   MPI_INFO_NULL, MPI_COMM_WORLD, &sum, &win);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  if (rank == 0) *sum = 0;
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0,
               win); /* sums of several ranks at once are right */
  for (int step = 1; step <= 3; step++) {
    part = step * (rank + 1);
    MPI_Raccumulate(&part, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, MPI_SUM, win,
                    &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* `part` may be changed */
  }
  MPI_Win_unlock(0, win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
  if (rank == 0) printf("the sum is %g\n", *sum);
  MPI_Win_unlock(0, win);
  MPI_Win_free(&win);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   the sum is 36 */
