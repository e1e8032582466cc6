// SPDX-License-Identifier: BSD-3-Clause
// steps [barrier|alltoall]: MPI_Init and MPI_Finalize; between them nothing, or a barrier, or a barrier and then an
// all-to-all, whose data are checked. For those who count what the launcher sends for each of these.
#include <mpi.h>

#include <string_view>
#include <vector>

#include "check.hpp"

int main(int argc, char** argv) {
  const std::string_view last = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (last != "") MPI_Barrier(MPI_COMM_WORLD);
  if (last == "alltoall") {
    std::vector<int> mine, theirs(static_cast<size_t>(size), -1);
    for (int to = 0; to < size; ++to) mine.push_back(rank * size + to);
    MPI_Alltoall(mine.data(), 1, MPI_INT, theirs.data(), 1, MPI_INT, MPI_COMM_WORLD);
    for (int from = 0; from < size; ++from) CHECK(theirs[static_cast<size_t>(from)] == from * size + rank);
  }
  MPI_Finalize();
  return 0;
}
