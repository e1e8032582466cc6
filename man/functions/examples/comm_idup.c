/* SPDX-License-Identifier: BSD-3-Clause */
/* A library begins to copy its user's communicator when it is set up, and waits for it at the first use. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, sum;
  MPI_Comm mine;
  MPI_Request request;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_idup(MPI_COMM_WORLD, &mine, &request);
  /* the rest of the setup would be here */
  MPI_Wait(&request, MPI_STATUS_IGNORE); /* now `mine` may be used */
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, mine);
  printf("rank %d: the sum is %d\n", rank, sum);
  MPI_Comm_free(&mine);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0: the sum is 3
   rank 1: the sum is 3
   rank 2: the sum is 3 */
