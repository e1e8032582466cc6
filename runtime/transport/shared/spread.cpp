// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shared/spread.hpp"

#include <sched.h>

#include <algorithm>

namespace tutti::transport {

int better_cpu(int here, const std::vector<int>& others, const std::vector<int>& allowed) {
  int best = kNoCpu;
  auto least = std::ranges::count(others, here);  // but me
  for (const int cpu : allowed) {
    const auto there = std::ranges::count(others, cpu);
    if (cpu == here || there >= least) continue;
    best = cpu;
    least = there;
  }
  return best;
}

int cpu_now() {
  return sched_getcpu();
}

void find_allowed_cpus(std::vector<int>& cpus) {
  cpus.clear();
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return;  // of more CPUs than the set has room for
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
}

bool move_to_cpu(int cpu) {
  cpu_set_t before, there;
  CPU_ZERO(&there);
  CPU_SET(cpu, &there);
  if (sched_getaffinity(0, sizeof before, &before) != 0) return false;
  if (sched_setaffinity(0, sizeof there, &there) != 0) return false;
  return sched_setaffinity(0, sizeof before, &before) == 0;
}

}  // namespace tutti::transport
