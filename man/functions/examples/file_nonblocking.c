/* SPDX-License-Identifier: BSD-3-Clause */
/* A checkpoint is written while the program goes on. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  enum { N = 1000 };
  int rank, written;
  static double state[N];
  MPI_File file;
  MPI_Request request;
  MPI_Status status;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_File_open(
      MPI_COMM_WORLD, "file_nonblocking.dat",
      MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE,
      MPI_INFO_NULL, &file);
  MPI_File_iwrite_at(file, (MPI_Offset)rank * sizeof state, state, N,
                     MPI_DOUBLE, &request);
  /* what does not change the state would be here */
  MPI_Wait(&request, &status);
  MPI_Get_count(&status, MPI_DOUBLE, &written);
  printf("rank %d wrote %d numbers\n", rank, written);
  MPI_File_close(&file);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   rank 0 wrote 1000 numbers
   rank 1 wrote 1000 numbers */
