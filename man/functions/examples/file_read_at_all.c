/* SPDX-License-Identifier: BSD-3-Clause */
/* A restart: all ranks read the header, then each its part of the state. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  enum { EACH = 4 };
  int rank, size, steps = 17, header;
  double state[EACH], again[EACH];
  MPI_File file;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < EACH; i++) state[i] = EACH * rank + i;
  MPI_Offset mine = sizeof header + rank * (MPI_Offset)sizeof state;
  MPI_File_open(MPI_COMM_WORLD, "file_read_at_all.dat",
                MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  if (rank == 0)
    MPI_File_write_at(file, 0, &steps, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_write_at_all(file, mine, state, EACH, MPI_DOUBLE,
                        MPI_STATUS_IGNORE);
  MPI_File_close(&file);

  MPI_File_open(MPI_COMM_WORLD, "file_read_at_all.dat",
                MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                &file);
  MPI_File_read_at_all(file, 0, &header, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_read_at_all(file, mine, again, EACH, MPI_DOUBLE,
                       MPI_STATUS_IGNORE);
  printf("rank %d goes on behind step %d with %g to %g\n", rank, header,
         again[0], again[EACH - 1]);
  MPI_File_close(&file);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   rank 0 goes on behind step 17 with 0 to 3
   rank 1 goes on behind step 17 with 4 to 7 */
