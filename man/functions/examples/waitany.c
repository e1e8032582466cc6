/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 takes answers as they come. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  int rank, size;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank > 0) {
    int answer = 10 * rank;
    MPI_Send(&answer, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  } else {
    int *answers = malloc(size * sizeof *answers), which, sum = 0;
    MPI_Request *requests = malloc(size * sizeof *requests);
    requests[0] = MPI_REQUEST_NULL;
    for (int r = 1; r < size; r++)
      MPI_Irecv(&answers[r], 1, MPI_INT, r, 0, MPI_COMM_WORLD,
                &requests[r]);
    for (;;) {
      MPI_Waitany(size, requests, &which, MPI_STATUS_IGNORE);
      if (which == MPI_UNDEFINED) break; /* none is left */
      sum += answers[which];
    }
    printf("the sum is %d\n", sum);
    free(answers), free(requests);
  }
  MPI_Finalize();
}

/* mpirun -n 4 prints, in some order:
   the sum is 60 */
