/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 1 does not know how long the message is, and asks before it receives. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  int rank;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    int primes[] = {2, 3, 5, 7, 11};
    MPI_Send(primes, 5, MPI_INT, 1, 0, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Message message;
    MPI_Status status;
    int count;
    MPI_Mprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    int *numbers = malloc(count * sizeof *numbers);
    MPI_Mrecv(numbers, count, MPI_INT, &message, MPI_STATUS_IGNORE);
    printf("%d numbers, the last is %d\n", count, numbers[count - 1]);
    free(numbers);
  }
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   5 numbers, the last is 11 */
