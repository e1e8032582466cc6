/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 adds what has come, as much as is there each time. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  enum { MOST = 64 };
  int rank, size, parts[MOST], which[MOST], n, sum = 0;
  MPI_Request requests[MOST];
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int others = size - 1 < MOST ? size - 1 : MOST;
  if (rank == 0) {
    for (int i = 0; i < others; i++)
      MPI_Irecv(&parts[i], 1, MPI_INT, i + 1, 0, MPI_COMM_WORLD,
                &requests[i]);
    for (;;) {
      MPI_Waitsome(others, requests, &n, which, MPI_STATUSES_IGNORE);
      if (n == MPI_UNDEFINED) break; /* none is left */
      for (int i = 0; i < n; i++) sum += parts[which[i]];
    }
    printf("the sum is %d\n", sum);
  } else if (rank <= others) {
    MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  }
  MPI_Finalize();
}

/* mpirun -n 4 prints, in some order:
   the sum is 6 */
