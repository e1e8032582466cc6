/* SPDX-License-Identifier: BSD-3-Clause */
/* A search ends for all when one rank has found something; between its steps each looks for a message of any. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, found[2], which, there = 0, steps = 0;
  MPI_Request requests[2];
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    for (int i = 0; i < 2; i++) /* one of each searcher */
      MPI_Irecv(&found[i], 1, MPI_INT, i + 1, 0, MPI_COMM_WORLD,
                &requests[i]);
    while (!there) {
      steps++; /* a step of the search would be here */
      MPI_Testany(2, requests, &which, &there, MPI_STATUS_IGNORE);
    }
    printf("one has found %s\n",
           found[which] % 91 == 0 && steps > 0 ? "something" : "nothing");
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); /* the other one's */
  } else if (rank <= 2) {
    int mine = 91 * rank;
    MPI_Send(&mine, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  }
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   one has found something */
