/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays that were allocated one by one go as one message: their places are addresses. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  int rank, lengths[2] = {2, 3}, *parts[2];
  MPI_Aint places[2];
  MPI_Datatype both;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 2; i++) {
    parts[i] = calloc(lengths[i], sizeof(int));
    for (int j = 0; j < lengths[i] && rank == 0; j++)
      parts[i][j] = 10 * i + j;
    MPI_Get_address(parts[i], &places[i]);
  }
  MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &both);
  MPI_Type_commit(&both);
  if (rank == 0) {
    MPI_Send(MPI_BOTTOM, 1, both, 1, 0, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Recv(MPI_BOTTOM, 1, both, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("%d %d, %d %d %d\n", parts[0][0], parts[0][1], parts[1][0],
           parts[1][1], parts[1][2]);
  }
  MPI_Type_free(&both);
  free(parts[0]), free(parts[1]);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   0 1, 10 11 12 */
