// SPDX-License-Identifier: BSD-3-Clause
// Nonblocking access (MPI 5.0, sections 14.4 and 14.6.5): many at once, completed in any mixture with messages and
// collectives, by every completion call; and a split collective while others compute.
#include "file/scratch.hpp"

namespace {

constexpr int kBlocks = 24, kInts = 3000;

int value(int rank, int block, int i) {
  return static_cast<int>(check::mix(rank, block, i));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program program(&argc, &argv);
  const int rank = program.rank(), size = program.size(), next = (rank + 1) % size;
  Scratch scratch;
  const std::string path = scratch.file("overlap");
  MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR);
  OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  std::vector<std::vector<int>> out(kBlocks, std::vector<int>(kInts)), in(kBlocks, std::vector<int>(kInts, -1));
  const auto at = [&](int r, int block) { return (static_cast<MPI_Offset>(block) * size + r) * kInts; };

  std::vector<MPI_Request> requests;
  int from_left = -1;
  requests.resize(kBlocks + 3);
  OK(MPI_Irecv(&from_left, 1, MPI_INT, (rank + size - 1) % size, 5, MPI_COMM_WORLD, &requests[kBlocks]));
  OK(MPI_Isend(&rank, 1, MPI_INT, next, 5, MPI_COMM_WORLD, &requests[kBlocks + 1]));
  OK(MPI_Ibarrier(MPI_COMM_WORLD, &requests[kBlocks + 2]));
  for (int b = 0; b < kBlocks; ++b) {
    for (int i = 0; i < kInts; ++i) out[b][i] = value(rank, b, i);
    if (b % 2)
      OK(MPI_File_iwrite_at(file, at(rank, b), out[b].data(), kInts, MPI_INT, &requests[b]));
    else
      OK(MPI_File_iwrite_at_all(file, at(rank, b), out[b].data(), kInts, MPI_INT, &requests[b]));
  }
  std::vector<MPI_Status> statuses(requests.size());
  // One by MPI_Waitany, the others by MPI_Waitall.
  int index = -1;
  OK(MPI_Waitany(static_cast<int>(requests.size()), requests.data(), &index, &statuses[0]));
  CHECK(index >= 0 && requests[index] == MPI_REQUEST_NULL);
  OK(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), statuses.data()));
  CHECK_EQ(from_left, (rank + size - 1) % size);
  for (int b = 0; b < kBlocks; ++b)
    if (b != index) check_count(statuses[b], MPI_INT, kInts);
  OK(MPI_File_sync(file));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_File_sync(file));

  // What the neighbour has written, by MPI_Testsome.
  for (int b = 0; b < kBlocks; ++b)
    OK(MPI_File_iread_at(file, at(next, b), in[b].data(), kInts, MPI_INT, &requests[b]));
  std::vector<int> indices(kBlocks);
  for (int done = 0; done < kBlocks;) {
    int some = 0;
    OK(MPI_Testsome(kBlocks, requests.data(), &some, indices.data(), statuses.data()));
    CHECK(some != MPI_UNDEFINED);
    for (int s = 0; s < some; ++s) check_count(statuses[s], MPI_INT, kInts);
    done += some;
  }
  for (int b = 0; b < kBlocks; ++b)
    for (int i = 0; i < kInts; ++i) CHECK_EQ_IN(in[b][i], value(next, b, i), "block %d, element %d", b, i);

  // A request that is freed completes all the same, and the pointer moves when a call begins, not when it ends.
  OK(MPI_File_seek(file, at(rank, kBlocks), MPI_SEEK_SET));
  MPI_Request first, second;
  OK(MPI_File_iwrite(file, out[0].data(), kInts, MPI_INT, &first));
  MPI_Offset now = -1;
  OK(MPI_File_get_position(file, &now));
  CHECK_EQ(now, at(rank, kBlocks) + kInts);
  OK(MPI_Wait(&first, MPI_STATUS_IGNORE));
  // Two at once on one pointer, with different data.
  OK(MPI_File_seek(file, at(0, kBlocks + 1) + 2 * kInts * rank, MPI_SEEK_SET));
  OK(MPI_File_iwrite_all(file, out[1].data(), kInts, MPI_INT, &first));
  OK(MPI_File_iwrite_all(file, out[2].data(), kInts, MPI_INT, &second));
  OK(MPI_Wait(&second, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&first, MPI_STATUS_IGNORE));

  // A split collective, and messages while it is under way.
  OK(MPI_File_read_at_all_begin(file, at(0, kBlocks + 1) + 2 * kInts * rank, in[0].data(), kInts, MPI_INT));
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, next, 6, &from_left, 1, MPI_INT, (rank + size - 1) % size, 6, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE));
  MPI_Status status;
  OK(MPI_File_read_at_all_end(file, in[0].data(), &status));
  check_count(status, MPI_INT, kInts);
  for (int i = 0; i < kInts; ++i) CHECK_EQ(in[0][i], value(rank, 1, i));
  OK(MPI_File_read_at(file, at(0, kBlocks + 1) + 2 * kInts * rank + kInts, in[1].data(), kInts, MPI_INT, &status));
  for (int i = 0; i < kInts; ++i) CHECK_EQ(in[1][i], value(rank, 2, i));
  OK(MPI_File_close(&file));
}
