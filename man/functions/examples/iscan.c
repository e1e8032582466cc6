/* SPDX-License-Identifier: BSD-3-Clause */
/* Two sums of the ranks up to this one and before it, started together and waited for at once. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, mine, with_mine, before = 0;
  MPI_Request requests[2];
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  mine = 10 + rank;
  MPI_Iscan(&mine, &with_mine, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
            &requests[0]);
  MPI_Iexscan(&mine, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
              &requests[1]);
  /* work that needs neither would be here */
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  printf("rank %d: %d before it, %d with it\n", rank, before, with_mine);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0: 0 before it, 10 with it
   rank 1: 10 before it, 21 with it
   rank 2: 21 before it, 33 with it */
