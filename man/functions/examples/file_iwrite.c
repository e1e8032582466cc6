/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rank writes its own log, piece by piece, and prepares the next piece while one is written. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  enum { LENGTH = 7, PIECES = 3 };
  int rank;
  char name[40], piece[2][LENGTH + 1], all[PIECES * LENGTH];
  MPI_File file;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(name, sizeof name, "file_iwrite.%d.log", rank);
  MPI_File_open(MPI_COMM_SELF, name,
                MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
  for (int i = 0; i < PIECES; i++) {
    snprintf(piece[i % 2], LENGTH + 1, "step %d;", i % 10);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* the piece before this one */
    MPI_File_iwrite(file, piece[i % 2], LENGTH, MPI_CHAR, &request);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_File_seek(file, 0, MPI_SEEK_SET);
  MPI_File_iread(file, all, PIECES * LENGTH, MPI_CHAR, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  printf("rank %d: %.*s\n", rank, PIECES * LENGTH, all);
  MPI_File_close(&file);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   rank 0: step 0;step 1;step 2;
   rank 1: step 0;step 1;step 2; */
