/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of a matrix go round a ring of ranks; each rank sees all of them, and needs the room of one. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, size, seen = 0;
  double block[100];
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 100; i++) block[i] = rank;
  for (int step = 0; step < size; step++) {
    seen = 10 * seen + (int)block[99];
    MPI_Sendrecv_replace(block, 100, MPI_DOUBLE, (rank + 1) % size, 0,
                         (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
  }
  printf("rank %d saw %03d and has %g again\n", rank, seen, block[0]);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0 saw 021 and has 0 again
   rank 1 saw 102 and has 1 again
   rank 2 saw 210 and has 2 again */
