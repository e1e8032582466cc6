/* SPDX-License-Identifier: BSD-3-Clause */
/* Both ranks start to send and to receive, and each does its own work before it waits. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, mine, theirs, own = 1;
  MPI_Request sending, receiving;
  MPI_Status status;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank < 2) {
    mine = 100 + rank;
    MPI_Irecv(&theirs, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &receiving);
    MPI_Isend(&mine, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &sending);
    for (int i = 1; i <= 5; i++) own *= i;
    MPI_Wait(&receiving, &status); /* now `theirs` may be read */
    printf("rank %d: %d of its own, %d from rank %d\n", rank, own, theirs,
           status.MPI_SOURCE);
    MPI_Wait(&sending, MPI_STATUS_IGNORE); /* now `mine` may be changed */
  }
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   rank 0: 120 of its own, 101 from rank 1
   rank 1: 120 of its own, 100 from rank 0 */
