/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 has work of its own, and serves between its pieces whoever has asked. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  enum { MOST = 64 };
  int rank, size, asked[MOST], which[MOST], n, served = 0;
  MPI_Request requests[MOST];
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int others = size - 1 < MOST ? size - 1 : MOST;
  if (rank == 0) {
    for (int i = 0; i < others; i++)
      MPI_Irecv(&asked[i], 1, MPI_INT, i + 1, 0, MPI_COMM_WORLD,
                &requests[i]);
    while (served < others) {
      /* a piece of work would be here */
      MPI_Testsome(others, requests, &n, which, MPI_STATUSES_IGNORE);
      for (int i = 0; i < n; i++)
        printf("rank %d has asked for %d\n", which[i] + 1, asked[which[i]]);
      served += n;
    }
  } else if (rank <= others) {
    int wish = 100 * rank;
    MPI_Send(&wish, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  }
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 1 has asked for 100
   rank 2 has asked for 200 */
