// SPDX-License-Identifier: BSD-3-Clause
// Sendrecv and Sendrecv_replace: rings of every stride, short and long, also with themselves.
#include "check.hpp"

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  const int size = world.size(), rank = world.rank();
  for (int stride = 0; stride < size; ++stride) {
    const int to = (rank + stride) % size, from = (rank + size - stride) % size;
    for (size_t bytes : {size_t{0}, size_t{1}, size_t{5000}, size_t{1} << 20}) {
      const auto out = check::pattern(bytes, rank), expected = check::pattern(bytes, from);
      std::vector<unsigned char> in(bytes + 3, 1);
      MPI_Status status;
      int count = -1;
      OK(MPI_Sendrecv(out.data(), bytes, MPI_BYTE, to, rank, in.data(), in.size(), MPI_BYTE, from, from, MPI_COMM_WORLD,
                      &status));
      OK(MPI_Get_count(&status, MPI_BYTE, &count));
      CHECK_EQ(count, bytes);
      CHECK_EQ(status.MPI_SOURCE, from);
      CHECK_EQ(status.MPI_TAG, from);
      in.resize(bytes);
      CHECK(in == expected);

      std::vector<unsigned char> both = out;
      OK(MPI_Sendrecv_replace(both.data(), bytes, MPI_BYTE, to, 4, from, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
      CHECK_EQ(status.MPI_SOURCE, from);
      CHECK_EQ(status.MPI_TAG, 4);
      CHECK(both == expected);
    }
  }
  // At the ends of a chain, MPI_PROC_NULL leaves the buffer alone.
  const int up = rank + 1 < size ? rank + 1 : MPI_PROC_NULL, down = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  int value = rank;
  OK(MPI_Sendrecv_replace(&value, 1, MPI_INT, up, 0, down, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK_EQ(value, rank > 0 ? rank - 1 : 0);
}
