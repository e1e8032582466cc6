/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rank takes its share of a list, in the order of the ranks: how much each takes, it alone has to know. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, list[6] = {1, 2, 3, 4, 5, 6}, mine[6], sum = 0;
  MPI_File file;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_File_open(MPI_COMM_WORLD, "file_read_ordered.dat",
                MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
  if (rank == 0)
    MPI_File_write_at(file, 0, list, 6, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
  int n = rank < 3 ? rank + 1 : 0;
  MPI_File_read_ordered(file, mine, n, MPI_INT, MPI_STATUS_IGNORE);
  for (int i = 0; i < n; i++) sum += mine[i];
  printf("rank %d: %d numbers, sum %d\n", rank, n, sum);
  MPI_File_close(&file);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0: 1 numbers, sum 1
   rank 1: 2 numbers, sum 5
   rank 2: 3 numbers, sum 15 */
