/* SPDX-License-Identifier: BSD-3-Clause */
/* A file of a known length: an old and longer one is cut, and room for all of it is asked for before it is written. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, ranks;
  MPI_File file;
  MPI_Offset size;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_File_open(
      MPI_COMM_WORLD, "file_size.dat",
      MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE,
      MPI_INFO_NULL, &file);
  MPI_File_set_size(file, 0); /* nothing old is left */
  MPI_File_preallocate(file, 1000 * ranks);
  MPI_File_write_at(file, 1000 * rank, &rank, 1, MPI_INT,
                    MPI_STATUS_IGNORE);
  MPI_File_get_size(file, &size);
  if (rank == 0) printf("%d bytes\n", (int)size);
  MPI_File_close(&file);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   3000 bytes */
