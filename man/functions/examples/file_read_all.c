/* SPDX-License-Identifier: BSD-3-Clause */
/* A table in a file, a row of four numbers for each step; each rank reads its column of all steps. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  enum { STEPS = 3, COLUMNS = 4 };
  int rank, table[STEPS][COLUMNS], mine[STEPS];
  MPI_File file;
  MPI_Datatype column;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < STEPS * COLUMNS; i++)
    table[i / COLUMNS][i % COLUMNS] = i;
  MPI_File_open(MPI_COMM_WORLD, "file_read_all.dat",
                MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
  if (rank == 0)
    MPI_File_write_at(file, 0, table, STEPS * COLUMNS, MPI_INT,
                      MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
  MPI_Type_vector(STEPS, 1, COLUMNS, MPI_INT, &column);
  MPI_Type_commit(&column);
  MPI_File_set_view(file, rank % COLUMNS * sizeof(int), MPI_INT, column,
                    "native", MPI_INFO_NULL);
  MPI_File_read_all(file, mine, STEPS, MPI_INT, MPI_STATUS_IGNORE);
  printf("rank %d: %d %d %d\n", rank, mine[0], mine[1], mine[2]);
  MPI_File_close(&file);
  MPI_Type_free(&column);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0: 0 4 8
   rank 1: 1 5 9
   rank 2: 2 6 10 */
