/* SPDX-License-Identifier: BSD-3-Clause */
/* One large file, written and read once by all ranks, each its own part in a row, alone and together:
 *   whole_file PATH MIB BLOCK_KIB written|read alone|together [synced]
 * prints the seconds of the slowest rank from the file's opening to its closing, with MPI_File_sync if it says "synced". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK(call) \
  if ((call) != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1)

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 6) MPI_Abort(MPI_COMM_WORLD, 2);
  const MPI_Offset part = ((MPI_Offset)atoi(argv[2]) << 20) / size, block = (MPI_Offset)atoi(argv[3]) << 10;
  const int writes = strcmp(argv[4], "written") == 0, together = strcmp(argv[5], "together") == 0, synced = argc > 6;
  char* const data = malloc((size_t)block);
  memset(data, 'a' + rank, (size_t)block);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  MPI_File file;
  OK(MPI_File_open(MPI_COMM_WORLD, argv[1], writes ? MPI_MODE_CREATE | MPI_MODE_WRONLY : MPI_MODE_RDONLY, MPI_INFO_NULL,
                   &file));
  for (MPI_Offset at = 0; at < part; at += block) {
    MPI_Status status;
    int moved = 0;
    const MPI_Offset place = rank * part + at;
    OK(writes     ? together ? MPI_File_write_at_all(file, place, data, (int)block, MPI_BYTE, &status)
                             : MPI_File_write_at(file, place, data, (int)block, MPI_BYTE, &status)
           : together ? MPI_File_read_at_all(file, place, data, (int)block, MPI_BYTE, &status)
                  : MPI_File_read_at(file, place, data, (int)block, MPI_BYTE, &status));
    MPI_Get_count(&status, MPI_BYTE, &moved);
    if (moved != block) MPI_Abort(MPI_COMM_WORLD, 3);
  }
  if (synced) OK(MPI_File_sync(file));
  OK(MPI_File_close(&file));
  double mine = MPI_Wtime() - begin, slowest = 0;
  MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%.6f\n", slowest);
  free(data);
  MPI_Finalize();
  return 0;
}
