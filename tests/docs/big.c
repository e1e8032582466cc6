/* SPDX-License-Identifier: BSD-3-Clause */
/* For the page of containers: a message that is long enough for every way that there is. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  const int length = 1 << 24;
  char* buffer = calloc(length, 1);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1) {
    MPI_Recv(buffer, length, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    puts("done");
  } else if (rank == 0) {
    MPI_Send(buffer, length, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
  }
  free(buffer);
  MPI_Finalize();
}
