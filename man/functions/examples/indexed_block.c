/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairs that lie anywhere in an array, each of the same length. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, where[3] = {8, 0, 4}, values[10] = {0}, got[6] = {0};
  MPI_Datatype pairs;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Type_create_indexed_block(3, 2, where, MPI_INT, &pairs);
  MPI_Type_commit(&pairs);
  if (rank == 0) {
    for (int i = 0; i < 10; i++) values[i] = i * i;
    MPI_Send(values, 1, pairs, 1, 0, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Recv(got, 6, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("%d %d, %d %d, %d %d\n", got[0], got[1], got[2], got[3], got[4],
           got[5]);
  }
  MPI_Type_free(&pairs);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   64 81, 0 1, 16 25 */
