// SPDX-License-Identifier: BSD-3-Clause
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/cgroup.hpp"
#include "boot/job.hpp"

namespace tutti::boot {
int allowed_cores() {
  // A bound rank sees only its own cores; the launcher has seen the node.
  if (const char* told = std::getenv("TUTTI_NODE_CORES"))
    if (const int cores = std::atoi(told); cores > 0) return cores;
  // srun may have bound this rank to a part of what the ranks of the node have together.
  int cores = cgroup_processors();
  if (cores == 0) {
    cpu_set_t mine;
    if (sched_getaffinity(0, sizeof mine, &mine) == 0) cores = CPU_COUNT(&mine);
    if (cores <= 1) cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  }
  // Rounded down: who polls on what is granted of a core in part is soon stopped.
  if (const double granted = cgroup_quota(); granted > 0)
    cores = std::min(cores, static_cast<int>(granted));
  return std::max(cores, 1);
}

}  // namespace tutti::boot
