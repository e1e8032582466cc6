/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks of a node write to one piece of memory. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, size, unit, *mine, *first;
  MPI_Aint bytes;
  MPI_Comm node;
  MPI_Win win;
  MPI_Init(NULL, NULL);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0,
                      MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &rank);
  MPI_Comm_size(node, &size);
  MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, node,
                          &mine, &win);
  MPI_Win_shared_query(win, 0, &bytes, &unit, &first);
  MPI_Win_lock_all(0, win);
  *mine = rank + 1;
  MPI_Win_sync(win);
  MPI_Barrier(node);
  MPI_Win_sync(win);
  if (rank == size - 1) {
    int sum = 0;
    for (int r = 0; r < size; r++)
      sum += first[r]; /* the parts follow each other */
    printf("the sum is %d\n", sum);
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  MPI_Comm_free(&node);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   the sum is 6 */
