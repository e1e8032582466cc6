// SPDX-License-Identifier: BSD-3-Clause
// Rank 0 sends to rank 1, short and long; nobody else says anything to anybody before all have
// written "talked". For the test that ranks connect only where they talk.
#include <mpi.h>
#include <unistd.h>

#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::vector<char> bytes(1 << 20);
  for (int count : {1, 1 << 20}) {
    if (rank == 0) MPI_Send(bytes.data(), count, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(bytes.data(), count, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  const char talked[] = "talked\n";
  if (write(2, talked, sizeof talked - 1) < 0) return 1;
  MPI_Finalize();
}
