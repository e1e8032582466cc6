/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rank passes its number to the next one and gets that of the one before. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, size, from_left;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Sendrecv(&rank, 1, MPI_INT, right, 0, &from_left, 1, MPI_INT, left, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  printf("rank %d got %d\n", rank, from_left);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0 got 2
   rank 1 got 0
   rank 2 got 1 */
