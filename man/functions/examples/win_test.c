/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 lets rank 1 write to its memory, and works until that has ended its access. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, *mine, other, seven = 7, over = 0;
  MPI_Win win;
  MPI_Group all, group;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                   &mine, &win);
  MPI_Win_get_group(win, &all);
  other = 1 - rank;
  if (rank < 2) {
    MPI_Group_incl(all, 1, &other, &group);
    if (rank == 0) {
      MPI_Win_post(group, 0, win);
      while (!over) {
        /* a piece of work would be here */
        MPI_Win_test(win, &over);
      }
      printf("rank 1 has written %d\n", *mine);
    } else {
      MPI_Win_start(group, 0, win);
      MPI_Put(&seven, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
      MPI_Win_complete(win);
    }
    MPI_Group_free(&group);
  }
  MPI_Group_free(&all);
  MPI_Win_free(&win);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   rank 1 has written 7 */
