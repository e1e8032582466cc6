// SPDX-License-Identifier: BSD-3-Clause
// All ways to place ten queens, by a master that hands out first rows to whoever asks: messages from
// anyone, tags that mean something, and workers that end at different times.
#include "check.hpp"

namespace {

constexpr int kQueens = 10;
enum Tag { ask, work, stop };

int solutions(int row, unsigned columns, unsigned left, unsigned right) {
  if (row == kQueens) return 1;
  int found = 0;
  for (unsigned free = ~(columns | left | right) & ((1u << kQueens) - 1); free; free &= free - 1) {
    const unsigned bit = free & -free;
    found += solutions(row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1);
  }
  return found;
}
// A piece of work: the columns of the first two queens.
int solve(int piece) {
  const unsigned a = 1u << piece / kQueens, b = 1u << piece % kQueens;
  if (b & (a | a << 1 | a >> 1)) return 0;
  return solutions(2, a | b, (a << 1 | b) << 1, (a >> 1 | b) >> 1);
}

int master(int workers) {
  int total = 0, next = 0;
  while (workers > 0) {
    int found = 0;
    MPI_Status status;
    OK(MPI_Recv(&found, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    CHECK_EQ(status.MPI_TAG, ask);
    total += found;
    if (next < kQueens * kQueens) {
      OK(MPI_Send(&next, 1, MPI_INT, status.MPI_SOURCE, work, MPI_COMM_WORLD));
      ++next;
    } else {
      OK(MPI_Send(nullptr, 0, MPI_INT, status.MPI_SOURCE, stop, MPI_COMM_WORLD));
      --workers;
    }
  }
  for (; next < kQueens * kQueens; ++next) total += solve(next);  // nobody to ask: alone
  return total;
}

void worker() {
  for (int found = 0;;) {
    int piece = -1;
    MPI_Status status;
    OK(MPI_Sendrecv(&found, 1, MPI_INT, 0, ask, &piece, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    if (status.MPI_TAG == stop) return;
    found = solve(piece);
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  int total = -1;
  if (world.rank() == 0)
    total = master(world.size() - 1);
  else
    worker();
  OK(MPI_Bcast(&total, 1, MPI_INT, 0, MPI_COMM_WORLD));
  CHECK_EQ(total, 724);
}
