/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rank knows to whom it sends, but not who sends to it: a barrier that does not wait tells when all has come. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, size, got, sum = 0, sent, there, in_barrier = 0, done = 0;
  MPI_Request requests[2], barrier;
  MPI_Status status;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 2; i++) /* complete when the receiver has it */
    MPI_Issend(&rank, 1, MPI_INT, (rank + i) * 2 % size, 0, MPI_COMM_WORLD,
               &requests[i]);
  while (!done) {
    MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &there, &status);
    if (there) {
      MPI_Recv(&got, 1, MPI_INT, status.MPI_SOURCE, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
      sum += got;
    }
    if (in_barrier) {
      MPI_Test(&barrier, &done, MPI_STATUS_IGNORE);
    } else {
      MPI_Testall(2, requests, &sent, MPI_STATUSES_IGNORE);
      if (sent) MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
      in_barrier = sent;
    }
  }
  printf("rank %d: the sum is %d\n", rank, sum);
  MPI_Finalize();
}

/* mpirun -n 4 prints, in some order:
   rank 0: the sum is 6
   rank 1: the sum is 0
   rank 2: the sum is 6
   rank 3: the sum is 0 */
