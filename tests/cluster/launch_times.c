// SPDX-License-Identifier: BSD-3-Clause
// What launch_times.sh starts, built for each MPI: rank 0 prints how long the first barrier and the first all-to-all of
// 64 bytes for each took, in milliseconds. "stay": all print "ready", and wait for their end.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double at[3], own[2], most[2];
  at[0] = MPI_Wtime();
  MPI_Barrier(MPI_COMM_WORLD);
  at[1] = MPI_Wtime();
  char* blocks = calloc((size_t)size, 128);
  MPI_Alltoall(blocks, 64, MPI_CHAR, blocks + 64 * (size_t)size, 64, MPI_CHAR, MPI_COMM_WORLD);
  at[2] = MPI_Wtime();
  own[0] = (at[1] - at[0]) * 1e3;
  own[1] = (at[2] - at[1]) * 1e3;
  MPI_Reduce(own, most, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (argc > 1) {
    printf("ready\n");
    fflush(stdout);
    for (;;) pause();
  }
  if (rank == 0) printf("%.1f %.1f\n", most[0], most[1]);
  free(blocks);
  MPI_Finalize();
  return 0;
}
