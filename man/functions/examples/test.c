/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 1 works until a message is there. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, value = 0, there = 0;
  MPI_Request request;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    value = 42;
    MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Irecv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
    while (!there) {
      /* a piece of work would be here */
      MPI_Test(&request, &there, MPI_STATUS_IGNORE);
    }
    printf("the value is %d\n", value);
  }
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   the value is 42 */
