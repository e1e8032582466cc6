/* SPDX-License-Identifier: BSD-3-Clause */
/* All ranks write a common file, each its part, and each reads that of the next one. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  enum { EACH = 10 };
  int rank, size, mine[EACH], others[EACH];
  MPI_File file;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < EACH; i++) mine[i] = 100 * rank + i;
  MPI_File_open(MPI_COMM_WORLD, "file_write.dat",
                MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_Offset part =
      EACH * sizeof(int); /* offsets are bytes, for no view was set */
  MPI_File_write_at_all(file, rank * part, mine, EACH, MPI_INT,
                        MPI_STATUS_IGNORE);
  MPI_File_sync(
      file); /* these three, so that a rank sees what another has written */
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
  MPI_File_read_at(file, (rank + 1) % size * part, others, EACH, MPI_INT,
                   MPI_STATUS_IGNORE);
  printf("rank %d read %d to %d\n", rank, others[0], others[EACH - 1]);
  MPI_File_close(&file);
  if (rank == 0) MPI_File_delete("file_write.dat", MPI_INFO_NULL);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0 read 100 to 109
   rank 1 read 200 to 209
   rank 2 read 0 to 9 */
