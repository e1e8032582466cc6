/* SPDX-License-Identifier: BSD-3-Clause */
/* A ring: each rank gives its two neighbours a number, and gets one of each. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, size, periodic = 1, out[2], in[2];
  MPI_Comm ring;
  MPI_Init(NULL, NULL);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
  MPI_Comm_rank(ring, &rank);
  out[0] = 10 * rank;     /* to the one before */
  out[1] = 10 * rank + 1; /* to the one behind */
  MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, ring);
  printf("rank %d: %d from before, %d from behind\n", rank, in[0], in[1]);
  MPI_Comm_free(&ring);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0: 21 from before, 10 from behind
   rank 1: 1 from before, 20 from behind
   rank 2: 11 from before, 0 from behind */
