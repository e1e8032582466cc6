/* SPDX-License-Identifier: BSD-3-Clause */
/* Of several threads each could look for messages so: the one that has found a message alone can receive it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  int rank, there = 0, length;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    MPI_Send("good morning", 13, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Message message;
    MPI_Status status;
    MPI_Request request;
    while (!there) {
      /* a piece of work would be here */
      MPI_Improbe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &there, &message,
                  &status);
    }
    MPI_Get_count(&status, MPI_CHAR, &length);
    char *text = malloc(length);
    MPI_Imrecv(text, length, MPI_CHAR, &message, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    printf("%s\n", text);
    free(text);
  }
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   good morning */
