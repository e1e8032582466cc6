// SPDX-License-Identifier: BSD-3-Clause
// A thousand rounds of a session, a collective on a communicator of its group, and its end: memory and
// descriptors stay as they are.
#include <dirent.h>
#include <malloc.h>

#include "session.hpp"

namespace {

int descriptors() {
  int count = 0;
  DIR* folder = opendir("/proc/self/fd");
  CHECK(folder);
  while (readdir(folder)) ++count;
  closedir(folder);
  return count;
}

size_t allocated() {
  return mallinfo2().uordblks;
}

void rounds(int from, int count) {
  for (int round = from; round < from + count; ++round) {
    MPI_Session mine = session::begin();
    MPI_Group group = session::group(mine);
    MPI_Comm comm = session::comm(group, "round");
    OK(MPI_Group_free(&group));
    session::use(comm, round);
    OK(MPI_Comm_free(&comm));
    session::end(mine);
  }
}

}  // namespace

int main() {
  rounds(0, 200);  // caches and pools have what they keep
  const int open = descriptors();
  const size_t before = allocated();
  rounds(200, 1000);
  const size_t after = allocated();
  // The first wait that is long enough to sleep opens a few.
  CHECK(descriptors() <= open + 8);
  if (after > before + 64 * 1024)
    check::fail(__FILE__, __LINE__, std::to_string(after - before) + " bytes more are allocated after 1000 rounds");
  std::puts("ok");
  return 0;
}
