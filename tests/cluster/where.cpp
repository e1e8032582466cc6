// SPDX-License-Identifier: BSD-3-Clause
// Says where each rank runs, after a collective has shown that they form one job.
#include <mpi.h>

#include <cstdio>

int main(int argc, char** argv) {
  int rank, size, length, sum = -1;
  char host[MPI_MAX_PROCESSOR_NAME];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Get_processor_name(host, &length);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  std::printf("rank %d of %d on %s\n", rank, size, host);
  MPI_Finalize();
  return sum == size * (size - 1) / 2 ? 0 : 1;
}
