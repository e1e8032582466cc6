// SPDX-License-Identifier: BSD-3-Clause
// What a window costs a process of its heap: no more with many ranks than with few, but for a few words for each rank of
// the node where these share the window's memory; also where sizes differ, and for a window behind others.
#include <malloc.h>

#include "check.hpp"

namespace {

// So many that what else the process takes meanwhile, some KiB at a time, does not count.
constexpr int kWindows = 64;

long heap() {
  const struct mallinfo2 now = mallinfo2();
  return static_cast<long>(now.uordblks + now.hblkhd);
}

// Bytes for each of some windows that are open at once.
template <class Open>
long cost(Open&& open) {
  MPI_Win windows[kWindows];
  open(windows[0]);  // what is kept for the next one as well
  OK(MPI_Win_free(&windows[0]));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const long before = heap();
  for (MPI_Win& window : windows) open(window);
  const long bytes = (heap() - before) / kWindows;
  for (MPI_Win& window : windows) OK(MPI_Win_free(&window));
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  check::Program mpi(&argc, &argv);
  constexpr long kMostCreated = 9 << 10, kMostAllocated = 11 << 10, kMostForEach = 96;
  long memory = 0;
  const long created = cost(
      [&](MPI_Win& window) { OK(MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window)); });
  const long allocated = cost([&](MPI_Win& window) {
    void* mine = nullptr;
    OK(MPI_Win_allocate(64 * (1 + mpi.rank() % 3), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &window));
  });
  std::printf("rank %d of %d: a created window takes %ld bytes, an allocated one %ld\n", mpi.rank(), mpi.size(),
              created, allocated);
  CHECK(created <= kMostCreated);
  CHECK(allocated <= kMostAllocated + mpi.size() * kMostForEach);
}
