// SPDX-License-Identifier: BSD-3-Clause
// "started with 3, has 17": how many descriptors a rank has at the start of its program, and when all have
// called MPI_Init and met.
#include <dirent.h>
#include <mpi.h>

#include <cstdio>

namespace {

int open_descriptors() {
  DIR* folder = opendir("/proc/self/fd");
  int count = -1;  // this one's
  while (const dirent* entry = readdir(folder)) count += entry->d_name[0] != '.';
  closedir(folder);
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  const int started_with = open_descriptors();
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  std::printf("started with %d, has %d\n", started_with, open_descriptors());
  MPI_Finalize();
}
