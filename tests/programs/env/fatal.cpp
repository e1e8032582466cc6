// SPDX-License-Identifier: BSD-3-Clause
// fatal abort|fatal|errors_abort: ends the job in the named way, from the last rank; the others wait
// for ever. The test judges the exit code, the words, and that the job ends.
#include "check.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::string way = argc > 1 ? argv[1] : "";
  int rank = -1, size = -1, value = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == size - 1) {
    if (way == "abort") MPI_Abort(MPI_COMM_WORLD, 42);
    if (way == "errors_abort") MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ABORT);
    MPI_Send(&value, 1, MPI_INT, size + 3, 0, MPI_COMM_WORLD);
    std::puts("an error went by");
  } else {
    MPI_Recv(&value, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
}
