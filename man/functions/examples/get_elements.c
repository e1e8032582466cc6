/* SPDX-License-Identifier: BSD-3-Clause */
/* A message that ends in the middle of a pair: how many whole pairs came, and how many numbers. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, numbers[10] = {1, 2, 3, 4, 5}, pairs, elements;
  MPI_Datatype pair;
  MPI_Status status;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  if (rank == 0) {
    MPI_Send(numbers, 5, MPI_INT, 1, 0, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Recv(numbers, 5, pair, 0, 0, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, pair, &pairs);
    MPI_Get_elements(&status, pair, &elements);
    printf("whole pairs only: %s, numbers: %d\n",
           pairs == MPI_UNDEFINED ? "no" : "yes", elements);
  }
  MPI_Type_free(&pair);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   whole pairs only: no, numbers: 5 */
