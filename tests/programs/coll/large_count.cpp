// SPDX-License-Identifier: BSD-3-Clause
// The large-count forms of collectives. NOT_OPENMPI: 4.1 lacks them.
#include "check.hpp"

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  const int size = world.size(), rank = world.rank();
  const MPI_Count n = 1500;
  std::vector<int> mine(n), all(n * size, -1), expected(n * size), part(n, -1);
  for (MPI_Count i = 0; i < n; ++i) mine[i] = rank * 10000 + i;
  for (int r = 0; r < size; ++r)
    for (MPI_Count i = 0; i < n; ++i) expected[r * n + i] = r * 10000 + i;
  MPI_Request request;
  const auto wait = [&] { OK(MPI_Wait(&request, MPI_STATUS_IGNORE)); };

  OK(MPI_Allgather_c(mine.data(), n, MPI_INT, all.data(), n, MPI_INT, MPI_COMM_WORLD));
  CHECK(all == expected);
  OK(MPI_Scatter_c(all.data(), n, MPI_INT, part.data(), n, MPI_INT, size - 1, MPI_COMM_WORLD));
  CHECK(part == mine);
  std::fill(all.begin(), all.end(), -1);
  OK(MPI_Igather_c(mine.data(), n, MPI_INT, all.data(), n, MPI_INT, 0, MPI_COMM_WORLD, &request));
  wait();
  if (rank == 0) CHECK(all == expected);
  OK(MPI_Ibcast_c(all.data(), n * size, MPI_INT, 0, MPI_COMM_WORLD, &request));
  wait();
  CHECK(all == expected);

  std::vector<MPI_Count> counts(size, n);
  std::vector<MPI_Aint> places(size);
  for (int r = 0; r < size; ++r) places[r] = (size - 1 - r) * n;
  std::fill(all.begin(), all.end(), -1);
  OK(MPI_Allgatherv_c(mine.data(), n, MPI_INT, all.data(), counts.data(), places.data(), MPI_INT, MPI_COMM_WORLD));
  for (int r = 0; r < size; ++r)
    for (MPI_Count i = 0; i < n; ++i) CHECK_EQ(all[places[r] + i], r * 10000 + i);
  OK(MPI_Iscatterv_c(all.data(), counts.data(), places.data(), MPI_INT, part.data(), n, MPI_INT, 0, MPI_COMM_WORLD,
                     &request));
  wait();
  CHECK(part == mine);

  std::vector<int> swapped(n * size, -1);
  OK(MPI_Ialltoallv_c(expected.data(), counts.data(), places.data(), MPI_INT, swapped.data(), counts.data(),
                      places.data(), MPI_INT, MPI_COMM_WORLD, &request));
  wait();
  for (int r = 0; r < size; ++r)
    for (MPI_Count i = 0; i < n; ++i) CHECK_EQ(swapped[places[r] + i], (size - 1 - rank) * 10000 + i);
  OK(MPI_Alltoall_c(expected.data(), n, MPI_INT, swapped.data(), n, MPI_INT, MPI_COMM_WORLD));
  for (int i = 0; i < size * n; ++i) CHECK_EQ(swapped[i], rank * 10000 + i % n);

  std::vector<int> sums(n);
  OK(MPI_Reduce_scatter_block_c(expected.data(), sums.data(), n, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  for (MPI_Count i = 0; i < n; ++i) CHECK_EQ(sums[i], size * expected[rank * n + i]);
  OK(MPI_Ireduce_scatter_c(expected.data(), sums.data(), counts.data(), MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
  wait();
  for (MPI_Count i = 0; i < n; ++i) CHECK_EQ(sums[i], size * expected[rank * n + i]);
  OK(MPI_Iexscan_c(mine.data(), sums.data(), n, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request));
  wait();
  if (rank > 0) CHECK_EQ(sums[5], (rank - 1) * 10000 + 5);
}
