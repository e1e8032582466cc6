/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 deletes its copy only when rank 1 has begun to receive: nothing is lost between them. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, orders[3] = {17, 4, 21};
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    MPI_Ssend(orders, 3, MPI_INT, 1, 0, MPI_COMM_WORLD);
    printf(
        "rank 1 has taken the orders over\n"); /* MPI_Send may return before */
  } else if (rank == 1) {
    MPI_Recv(orders, 3, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("the last order is %d\n", orders[2]);
  }
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   rank 1 has taken the orders over
   the last order is 21 */
