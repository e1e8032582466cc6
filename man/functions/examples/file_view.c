/* SPDX-License-Identifier: BSD-3-Clause */
/* A matrix in a file by rows; each rank writes its columns. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  enum { ROWS = 3, EACH = 2 };
  int rank, size, mine[ROWS][EACH], all[100];
  MPI_File file;
  MPI_Datatype columns;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < EACH; j++) mine[i][j] = 10 * i + EACH * rank + j;
  int sizes[] = {ROWS, EACH * size}, part[] = {ROWS, EACH},
      start[] = {0, EACH * rank};
  MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_C, MPI_INT,
                           &columns);
  MPI_Type_commit(&columns);
  MPI_File_open(MPI_COMM_WORLD, "file_view.dat",
                MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
  MPI_File_set_view(file, 0, MPI_INT, columns, "native", MPI_INFO_NULL);
  MPI_File_write_all(file, mine, ROWS * EACH, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native",
                    MPI_INFO_NULL); /* the whole file */
  if (rank == 0) {
    MPI_File_read(file, all, ROWS * EACH * size, MPI_INT,
                  MPI_STATUS_IGNORE);
    for (int i = 0; i < ROWS; i++)
      printf("%d ... %d\n", all[i * EACH * size],
             all[(i + 1) * EACH * size - 1]);
  }
  MPI_File_close(&file);
  MPI_Type_free(&columns);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   0 ... 5
   10 ... 15
   20 ... 25 */
