/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 1 says that its receives are posted, and rank 0 sends in the knowledge of that. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  enum { READY = 1, DATA = 2 };
  int rank, values[2] = {0};
  MPI_Request requests[2];
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    values[0] = 3, values[1] = 4;
    MPI_Recv(NULL, 0, MPI_INT, 1, READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irsend(&values[0], 1, MPI_INT, 1, DATA, MPI_COMM_WORLD,
               &requests[0]);
    MPI_Rsend(&values[1], 1, MPI_INT, 1, DATA, MPI_COMM_WORLD);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  } else if (rank == 1) {
    for (int i = 0; i < 2; i++)
      MPI_Irecv(&values[i], 1, MPI_INT, 0, DATA, MPI_COMM_WORLD,
                &requests[i]);
    MPI_Send(NULL, 0, MPI_INT, 0, READY, MPI_COMM_WORLD);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    printf("got %d and %d\n", values[0], values[1]);
  }
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   got 3 and 4 */
