/* SPDX-License-Identifier: BSD-3-Clause */
/* A file of one rank's own: a header whose number is known only when all that follows it is written. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int n = 0, numbers[3];
  MPI_File file;
  MPI_Offset at;
  MPI_Init(NULL, NULL);
  MPI_File_open(MPI_COMM_SELF, "file_seek.dat",
                MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
  MPI_File_write(file, &n, 1, MPI_INT, MPI_STATUS_IGNORE); /* its place */
  for (int value = 10; value < 40; value += 10, n++)
    MPI_File_write(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_get_position(file,
                        &at); /* in elements of the view: bytes here */
  printf("%d bytes\n", (int)at);
  MPI_File_seek(file, 0, MPI_SEEK_SET);
  MPI_File_write(file, &n, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_seek(file, -2 * (MPI_Offset)sizeof(int), MPI_SEEK_END);
  MPI_File_read(file, numbers, 2, MPI_INT, MPI_STATUS_IGNORE);
  printf("the last two are %d and %d\n", numbers[0], numbers[1]);
  MPI_File_close(&file);
  MPI_Finalize();
}

/* mpirun -n 1 prints, in some order:
   16 bytes
   the last two are 20 and 30 */
