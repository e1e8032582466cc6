// SPDX-License-Identifier: BSD-3-Clause
// crowd RANKS: behind a barrier rank 0 prints, in KiB, the least memory of its own that any rank has, and the least share of
// what is in /dev/shm; and the most descriptors of any. (The least, for what ranks have beyond it changes from run to run.)
// crowd app: each prints which program of the job it is. crowd spawn: it and one that it spawns print how many slots their
// jobs have.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace {

struct Has {
  long memory = 0, shared = 0, descriptors = 0;
};

Has own() {
  Has has;
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("Pss_Anon:")) has.memory = std::atol(line.c_str() + 9);
    if (line.starts_with("Pss_Shmem:")) has.shared = std::atol(line.c_str() + 10);
  }
  file.close();
  const std::filesystem::directory_iterator all("/proc/self/fd");
  has.descriptors = std::distance(begin(all), end(all)) - 1;  // but the one that looks
  return has;
}

int spawns(char** argv) {
  int *slots = nullptr, given = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &slots, &given);
  MPI_Comm other;
  MPI_Comm_get_parent(&other);
  std::printf("of a job of %d slots%s\n", given ? *slots : -1, other == MPI_COMM_NULL ? "" : ", spawned");
  if (other == MPI_COMM_NULL)
    MPI_Comm_spawn(argv[0], argv + 1, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other, MPI_ERRCODES_IGNORE);
  MPI_Comm_disconnect(&other);
  MPI_Finalize();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  MPI_Init(&argc, &argv);
  if (std::strcmp(argv[1], "app") == 0) {
    int *number = nullptr, given = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &given);
    std::printf("program %d\n", given ? *number : -1);
    MPI_Finalize();
    return 0;
  }
  if (std::strcmp(argv[1], "spawn") == 0) return spawns(argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  const Has has = own();
  MPI_Barrier(MPI_COMM_WORLD);  // before anybody looks less alike
  long of_own[2] = {has.memory, has.shared}, least[2] = {}, most = 0;
  MPI_Reduce(of_own, least, 2, MPI_LONG, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Reduce(&has.descriptors, &most, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%ld %ld %ld\n", least[0], least[1], most);
  MPI_Finalize();
  return size == std::atoi(argv[1]) ? 0 : 1;
}
