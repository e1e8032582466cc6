/* SPDX-License-Identifier: BSD-3-Clause */
/* Only those ranks synchronise that have to do with each other: each rank writes to the next one. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, size, *mine;
  MPI_Win win;
  MPI_Group all, before, behind;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int left = (rank + size - 1) % size, right = (rank + 1) % size;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                   &mine, &win);
  MPI_Win_get_group(win, &all);
  MPI_Group_incl(all, 1, &left, &before);
  MPI_Group_incl(all, 1, &right, &behind);
  MPI_Win_post(before, 0, win);  /* the one before may write here */
  MPI_Win_start(behind, 0, win); /* this one writes to the one behind */
  MPI_Put(&rank, 1, MPI_INT, right, 0, 1, MPI_INT, win);
  MPI_Win_complete(win);
  MPI_Win_wait(win);
  printf("rank %d has %d\n", rank, *mine);
  MPI_Group_free(&before);
  MPI_Group_free(&behind);
  MPI_Group_free(&all);
  MPI_Win_free(&win);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0 has 2
   rank 1 has 0
   rank 2 has 1 */
