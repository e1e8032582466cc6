/* SPDX-License-Identifier: BSD-3-Clause */
/* The columns of an array that is stored by rows: one of them, and all, by their numbers. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  enum { ROWS = 3, COLUMNS = 4 };
  int rank, a[ROWS][COLUMNS] = {{0}};
  MPI_Datatype spread, column;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Type_vector(ROWS, 1, COLUMNS, MPI_INT, &spread);
  /* The next column begins one int behind this one, not behind its end. */
  MPI_Type_create_resized(spread, 0, sizeof(int), &column);
  MPI_Type_commit(&column);
  if (rank == 0) {
    for (int i = 0; i < ROWS; i++)
      for (int j = 0; j < COLUMNS; j++) a[i][j] = 10 * i + j;
    MPI_Send(&a[0][1], 2, column, 1, 0, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Recv(&a[0][1], 2, column, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < ROWS; i++)
      printf("%2d %2d %2d %2d\n", a[i][0], a[i][1], a[i][2], a[i][3]);
  }
  MPI_Type_free(&spread);
  MPI_Type_free(&column);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
    0  1  2  0
    0 11 12  0
    0 21 22  0 */
