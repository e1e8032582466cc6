// SPDX-License-Identifier: BSD-3-Clause
// crowd RANKS: behind a barrier rank 0 prints what the rank in the middle has: memory (PSS) in KiB, and of that what is of
// /dev/shm; and the most descriptors of any. crowd app: each prints which program of the job it is. crowd spawn: it and
// one that it spawns print how many slots their jobs have.
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

struct Has {
  long memory = 0, shared = 0, descriptors = 0;
};

Has own() {
  Has has;
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("Pss:")) has.memory = std::atol(line.c_str() + 4);
    if (line.starts_with("Pss_Shmem:")) has.shared = std::atol(line.c_str() + 10);
  }
  file.close();
  const std::filesystem::directory_iterator all("/proc/self/fd");
  has.descriptors = std::distance(begin(all), end(all)) - 1;  // but the one that looks
  return has;
}

long middle(std::vector<long>& of) {
  std::ranges::nth_element(of, of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2));
  return of[of.size() / 2];
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
  std::vector<long> memory(static_cast<std::size_t>(size)), shared(memory.size());
  long most = 0;
  MPI_Gather(&has.memory, 1, MPI_LONG, memory.data(), 1, MPI_LONG, 0, MPI_COMM_WORLD);
  MPI_Gather(&has.shared, 1, MPI_LONG, shared.data(), 1, MPI_LONG, 0, MPI_COMM_WORLD);
  MPI_Reduce(&has.descriptors, &most, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%ld %ld %ld\n", middle(memory), middle(shared), most);
  MPI_Finalize();
  return size == std::atoi(argv[1]) ? 0 : 1;
}
