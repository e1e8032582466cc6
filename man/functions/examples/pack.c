/* SPDX-License-Identifier: BSD-3-Clause */
/* A number, and as many values, in one message. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, n = 3, position = 0, of_int, of_doubles;
  double values[3] = {1, 2, 3}, got[3];
  char buffer[100];
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Pack_size(1, MPI_INT, MPI_COMM_WORLD, &of_int);
  MPI_Pack_size(3, MPI_DOUBLE, MPI_COMM_WORLD, &of_doubles);
  if (of_int + of_doubles > (int)sizeof buffer)
    MPI_Abort(MPI_COMM_WORLD, 1);
  if (rank == 0) {
    MPI_Pack(&n, 1, MPI_INT, buffer, sizeof buffer, &position,
             MPI_COMM_WORLD);
    MPI_Pack(values, n, MPI_DOUBLE, buffer, sizeof buffer, &position,
             MPI_COMM_WORLD);
    MPI_Send(buffer, position, MPI_PACKED, 1, 0, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Recv(buffer, sizeof buffer, MPI_PACKED, 0, 0, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    MPI_Unpack(buffer, sizeof buffer, &position, &n, 1, MPI_INT,
               MPI_COMM_WORLD);
    MPI_Unpack(buffer, sizeof buffer, &position, got, n, MPI_DOUBLE,
               MPI_COMM_WORLD);
    printf("%d values, the last is %g\n", n, got[n - 1]);
  }
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   3 values, the last is 3 */
