/* SPDX-License-Identifier: BSD-3-Clause */
/* Two pieces of a file are read ahead: while one is worked on, the other comes. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  enum { EACH = 100, PIECES = 5 };
  int sum = 0;
  static int all[PIECES * EACH], piece[2][EACH];
  MPI_File file;
  MPI_Request request[2];
  MPI_Init(NULL, NULL);
  for (int i = 0; i < PIECES * EACH; i++) all[i] = i % 10;
  MPI_File_open(MPI_COMM_SELF, "file_iread_at.dat",
                MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
  MPI_File_write(file, all, PIECES * EACH, MPI_INT, MPI_STATUS_IGNORE);
  for (int i = 0; i < PIECES + 2; i++) {
    if (i >= 2) {
      MPI_Wait(&request[i % 2], MPI_STATUS_IGNORE);
      for (int k = 0; k < EACH; k++) sum += piece[i % 2][k];
    }
    if (i < PIECES)
      MPI_File_iread_at(file, i * EACH * (MPI_Offset)sizeof(int),
                        piece[i % 2], EACH, MPI_INT, &request[i % 2]);
  }
  printf("the sum is %d\n", sum);
  MPI_File_close(&file);
  MPI_Finalize();
}

/* mpirun -n 1 prints, in some order:
   the sum is 2250 */
