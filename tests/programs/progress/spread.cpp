// SPDX-License-Identifier: BSD-3-Clause
// More ranks than cores: those that wait spread over the cores, though the kernel leaves them as they
// are. Ranks are put on one core but for two, and wait for each other; most times they soon share the
// cores evenly. Where a rank may run is not changed by that.
#include <sched.h>

#include <algorithm>

#include "check.hpp"

namespace {

constexpr int kTries = 6, kEnough = 4, kCalls = 2000;

std::vector<int> allowed() {
  cpu_set_t set;
  CHECK(sched_getaffinity(0, sizeof set, &set) == 0);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

void go_to(int cpu) {
  cpu_set_t before, there;
  CPU_ZERO(&there);
  CPU_SET(cpu, &there);
  CHECK(sched_getaffinity(0, sizeof before, &before) == 0);
  CHECK(sched_setaffinity(0, sizeof there, &there) == 0);
  CHECK(sched_setaffinity(0, sizeof before, &before) == 0);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<int> cpus = allowed();
  check::Program world(&argc, &argv);
  const int rank = world.rank(), size = world.size();
  const auto places = static_cast<int>(cpus.size());
  if (places < 2 || size < 2 * places) {
    if (rank == 0) std::printf("skipped: %d ranks are not many for %d CPUs\n", size, places);
    return 77;  // SKIP_RETURN_CODE of the test
  }
  int even = 0;
  std::string found;
  for (int i = 0; i < kTries; ++i) {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    go_to(cpus[rank < size - 2 ? 0 : 1]);
    long most = size, least = 0;
    for (int k = 0; k < kCalls && most - least > 1; ++k) {
      const int mine = sched_getcpu();
      std::vector<int> where(size);
      OK(MPI_Allgather(&mine, 1, MPI_INT, where.data(), 1, MPI_INT, MPI_COMM_WORLD));
      most = 0, least = size;
      for (const int cpu : cpus) {
        const long here = std::count(where.begin(), where.end(), cpu);
        most = std::max(most, here);
        least = std::min(least, here);
      }
    }
    even += most - least <= 1;
    found += " " + std::to_string(most) + " and " + std::to_string(least) + ",";
  }
  CHECK(allowed() == cpus);
  if (rank == 0 && even < kEnough)
    check::fail(__FILE__, __LINE__,
                "the fullest and the emptiest core had" + found + " ranks in " + std::to_string(kTries) + " tries");
}
