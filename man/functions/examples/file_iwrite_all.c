/* SPDX-License-Identifier: BSD-3-Clause */
/* All ranks start to write a common file, go on, and wait for it as for messages. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, number, again;
  MPI_File file;
  MPI_Request request;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  number = 10 * rank;
  MPI_File_open(MPI_COMM_WORLD, "file_iwrite_all.dat",
                MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
  MPI_File_set_view(file, rank * sizeof(int), MPI_INT, MPI_INT, "native",
                    MPI_INFO_NULL);
  MPI_File_iwrite_all(file, &number, 1, MPI_INT, &request);
  /* the next step would be here; `number` stays */
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_File_seek(file, 0, MPI_SEEK_SET);
  MPI_File_iread_all(file, &again, 1, MPI_INT, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  printf("rank %d: %d\n", rank, again);
  MPI_File_close(&file);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0: 0
   rank 1: 10
   rank 2: 20 */
