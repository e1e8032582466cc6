/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rank knows how much it sends to whom; of the sum each learns how much comes to it, while it packs. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  enum { MOST = 64 };
  int rank, size, to[MOST] = {0}, comes;
  MPI_Request request;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > MOST) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int r = rank; r < size; r++) to[r] = rank + 1;
  MPI_Ireduce_scatter_block(to, &comes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                            &request);
  /* the packing would be here */
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  printf("rank %d gets %d\n", rank, comes);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0 gets 1
   rank 1 gets 3
   rank 2 gets 6 */
