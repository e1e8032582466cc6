/* SPDX-License-Identifier: BSD-3-Clause */
/* Two prepared receives for one sender: while one message is worked on, the other may already come. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  enum { STEPS = 6 };
  int rank, value[2], sum = 0;
  MPI_Request slot[2];
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0)
    for (int step = 0; step < STEPS; step++)
      MPI_Send(&step, 1, MPI_INT, 1, step % 2, MPI_COMM_WORLD);
  if (rank == 1) {
    for (int i = 0; i < 2; i++) {
      MPI_Recv_init(&value[i], 1, MPI_INT, 0, i, MPI_COMM_WORLD, &slot[i]);
      MPI_Start(&slot[i]);
    }
    for (int step = 0; step < STEPS; step++) {
      MPI_Wait(&slot[step % 2], MPI_STATUS_IGNORE);
      sum += value[step % 2];
      if (step + 2 < STEPS) MPI_Start(&slot[step % 2]);
    }
    for (int i = 0; i < 2; i++) MPI_Request_free(&slot[i]);
    printf("the sum is %d\n", sum);
  }
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   the sum is 15 */
