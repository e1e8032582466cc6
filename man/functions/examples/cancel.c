/* SPDX-License-Identifier: BSD-3-Clause */
/* A receive for orders is always posted. At the end nobody sends any more, and it is taken back. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, order, taken_back;
  MPI_Request request;
  MPI_Status status;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Irecv(&order, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD,
            &request);
  /* the program would be here */
  MPI_Cancel(&request);
  MPI_Wait(&request,
           &status); /* returns, for it was cancelled or received */
  MPI_Test_cancelled(&status, &taken_back);
  printf("rank %d: %s\n", rank,
         taken_back ? "no order came" : "an order came");
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   rank 0: no order came
   rank 1: no order came */
