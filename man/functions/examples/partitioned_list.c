/* SPDX-License-Identifier: BSD-3-Clause */
/* A message of eight partitions: some become ready one after the other in a row, some in no order. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  enum { PARTITIONS = 8, EACH = 10 };
  int rank, values[PARTITIONS * EACH] = {0}, sum = 0;
  MPI_Request request;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    MPI_Psend_init(values, PARTITIONS, EACH, MPI_INT, 1, 0, MPI_COMM_WORLD,
                   MPI_INFO_NULL, &request);
    MPI_Start(&request);
    for (int i = 4 * EACH; i < PARTITIONS * EACH; i++) values[i] = 1;
    MPI_Pready_range(4, 7, request); /* the last is 7 */
    for (int i = 0; i < 4 * EACH; i++) values[i] = 2;
    MPI_Pready_list(4, (int[]){3, 0, 2, 1}, request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
  } else if (rank == 1) {
    MPI_Precv_init(values, PARTITIONS, EACH, MPI_INT, 0, 0, MPI_COMM_WORLD,
                   MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < PARTITIONS * EACH; i++) sum += values[i];
    printf("the sum is %d\n", sum);
    MPI_Request_free(&request);
  }
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   the sum is 120 */
