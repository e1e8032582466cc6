/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rank writes a line; they stand in the file in the order of the ranks. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  int rank;
  char line[100], text[1000];
  MPI_File file;
  MPI_Status status;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(line, sizeof line, "rank %d was here\n", rank);
  MPI_File_open(MPI_COMM_WORLD, "file_ordered.txt",
                MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
  MPI_File_write_ordered(file, line, (int)strlen(line), MPI_CHAR,
                         MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
  if (rank == 0) {
    int length;
    MPI_File_read_at(file, 0, text, sizeof text, MPI_CHAR, &status);
    MPI_Get_count(&status, MPI_CHAR,
                  &length); /* the file ends before the buffer */
    printf("%.*s", length, text);
  }
  MPI_File_close(&file);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0 was here
   rank 1 was here
   rank 2 was here */
