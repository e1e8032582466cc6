/* SPDX-License-Identifier: BSD-3-Clause */
/* A message in four partitions, which are ready in another order than they stand in. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  enum { PARTS = 4, EACH = 1000 };
  int rank;
  static double data[PARTS * EACH];
  MPI_Request request;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    MPI_Psend_init(data, PARTS, EACH, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD,
                   MPI_INFO_NULL, &request);
    MPI_Start(&request);
    for (int part = PARTS - 1; part >= 0; part--) {
      for (int i = 0; i < EACH; i++) data[part * EACH + i] = part;
      MPI_Pready(part, request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
  } else if (rank == 1) {
    int arrived = 0;
    MPI_Precv_init(data, PARTS, EACH, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD,
                   MPI_INFO_NULL, &request);
    MPI_Start(&request);
    while (!arrived) MPI_Parrived(request, 2, &arrived);
    printf("partition 2 begins with %g\n", data[2 * EACH]);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
  }
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   partition 2 begins with 2 */
