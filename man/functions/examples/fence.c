/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rank writes its number into the memory of the next one. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, size, *mine;
  MPI_Win win;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                   &mine, &win);
  *mine = -1;
  MPI_Win_fence(0, win);
  MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  printf("rank %d has %d\n", rank, *mine);
  MPI_Win_free(&win);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0 has 2
   rank 1 has 0
   rank 2 has 1 */
