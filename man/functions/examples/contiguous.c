/* SPDX-License-Identifier: BSD-3-Clause */
/* A point of three numbers as one element: counts are points, and so is what MPI_Get_count says. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, count;
  double points[4][3] = {{0}};
  MPI_Datatype point;
  MPI_Status status;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Type_contiguous(3, MPI_DOUBLE, &point);
  MPI_Type_commit(&point);
  if (rank == 0) {
    for (int i = 0; i < 4; i++) points[i][2] = i + 0.5;
    MPI_Send(points, 4, point, 1, 0, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Recv(points, 4, point, 0, 0, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, point, &count);
    printf("%d points, the last is (%g, %g, %g)\n", count, points[3][0],
           points[3][1], points[3][2]);
  }
  MPI_Type_free(&point);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   4 points, the last is (0, 0, 3.5) */
