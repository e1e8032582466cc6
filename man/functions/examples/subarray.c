/* SPDX-License-Identifier: BSD-3-Clause */
/* The inner part of an array with a border. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, sizes[] = {4, 5}, inner[] = {2, 3}, starts[] = {1, 1},
            a[4][5] = {{0}}, b[6];
  MPI_Datatype middle;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Type_create_subarray(2, sizes, inner, starts, MPI_ORDER_C, MPI_INT,
                           &middle);
  MPI_Type_commit(&middle);
  if (rank == 0) {
    for (int i = 0; i < 4; i++)
      for (int j = 0; j < 5; j++) a[i][j] = 10 * i + j;
    MPI_Send(a, 1, middle, 1, 0, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Recv(b, 6, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("%d %d %d / %d %d %d\n", b[0], b[1], b[2], b[3], b[4], b[5]);
  }
  MPI_Type_free(&middle);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   11 12 13 / 21 22 23 */
