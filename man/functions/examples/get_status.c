/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a message is there, and how long it is, while the request stays for whoever completes it. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, numbers[10] = {0}, there = 0, count;
  MPI_Request request;
  MPI_Status status;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    MPI_Send(numbers, 4, MPI_INT, 1, 0, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Irecv(numbers, 10, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
    while (!there) MPI_Request_get_status(request, &there, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    printf("%d numbers, and there is still a request: %s\n", count,
           request != MPI_REQUEST_NULL ? "yes" : "no");
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* returns at once */
  }
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   4 numbers, and there is still a request: yes */
