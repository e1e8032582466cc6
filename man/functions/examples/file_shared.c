/* SPDX-License-Identifier: BSD-3-Clause */
/* A common log: each rank writes its line where the last one has ended, whoever comes first. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  int rank, length;
  char line[40], text[1000];
  MPI_File file;
  MPI_Offset end;
  MPI_Status status;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_File_open(MPI_COMM_WORLD, "file_shared.log",
                MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
  snprintf(line, sizeof line, "rank %d is done\n", rank);
  MPI_File_write_shared(file, line, (int)strlen(line), MPI_CHAR,
                        MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
  MPI_File_get_position_shared(file, &end);
  if (rank == 0) printf("the log has %d bytes\n", (int)end);
  MPI_File_seek_shared(file, 0, MPI_SEEK_SET); /* all ranks call it */
  if (rank == 0) {
    MPI_File_read_shared(file, text, sizeof text, MPI_CHAR, &status);
    MPI_Get_count(&status, MPI_CHAR, &length);
    printf("%.*s", length, text);
  }
  MPI_File_close(&file);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   the log has 45 bytes
   rank 0 is done
   rank 1 is done
   rank 2 is done */
