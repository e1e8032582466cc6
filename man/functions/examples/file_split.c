/* SPDX-License-Identifier: BSD-3-Clause */
/* A collective write in two halves: between them the ranks compute, without touching what is written. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, count, number;
  double next;
  MPI_File file;
  MPI_Status status;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  number = 100 + rank;
  MPI_File_open(
      MPI_COMM_WORLD, "file_split.dat",
      MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE,
      MPI_INFO_NULL, &file);
  MPI_File_set_view(file, rank * sizeof(int), MPI_INT, MPI_INT, "native",
                    MPI_INFO_NULL);
  MPI_File_write_all_begin(file, &number, 1, MPI_INT);
  next = number / 2.0;
  MPI_File_write_all_end(file, &number, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  printf("rank %d has written %d number, and goes on with %g\n", rank,
         count, next);
  MPI_File_close(&file);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   rank 0 has written 1 number, and goes on with 50
   rank 1 has written 1 number, and goes on with 50.5 */
