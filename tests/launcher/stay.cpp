// SPDX-License-Identifier: BSD-3-Clause
// Runs until it is ended: what the fault tests shoot at. Odd ranks wait inside MPI for a message that
// never comes, even ones sleep outside of it.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>

int main(int argc, char** argv) {
  int rank, never = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  std::puts("ready");
  std::fflush(stdout);
  if (rank % 2) MPI_Recv(&never, 1, MPI_INT, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (;;) pause();
}
