/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rank tells its neighbours on a ring as many numbers as it has. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, size, mine[3] = {0}, got[6], ring_is_closed = 1;
  MPI_Comm ring;
  MPI_Init(NULL, NULL);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &ring_is_closed, 0, &ring);
  MPI_Comm_rank(ring, &rank);
  int before = (rank + size - 1) % size, behind = (rank + 1) % size;
  int counts[] = {before % 3 + 1, behind % 3 + 1}, displs[] = {0, 3};
  for (int i = 0; i < 3; i++) mine[i] = 10 * rank + i;
  MPI_Neighbor_allgatherv(mine, rank % 3 + 1, MPI_INT, got, counts, displs,
                          MPI_INT, ring);
  printf("rank %d: up to %d before, up to %d behind\n", rank,
         got[counts[0] - 1], got[3 + counts[1] - 1]);
  MPI_Comm_free(&ring);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0: up to 22 before, up to 11 behind
   rank 1: up to 0 before, up to 22 behind
   rank 2: up to 11 before, up to 0 behind */
