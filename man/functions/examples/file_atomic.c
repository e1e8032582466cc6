/* SPDX-License-Identifier: BSD-3-Clause */
/* With atomic access one rank reads what another has written before, without MPI_File_sync in between. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, value = 0;
  MPI_File file;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_File_open(MPI_COMM_WORLD, "file_atomic.dat",
                MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
  MPI_File_set_atomicity(file, 1);
  if (rank == 0) {
    value = 42;
    MPI_File_write_at(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    MPI_File_read_at(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    printf("rank 1 read %d\n", value);
  }
  MPI_File_close(&file);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   rank 1 read 42 */
