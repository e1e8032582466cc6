// SPDX-License-Identifier: BSD-3-Clause
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <numeric>

#include "base/os/cgroup.hpp"
#include "base/os/processors.hpp"
#include "boot/joining.hpp"

namespace tutti::boot {
namespace {

std::vector<int> affinity() {
  cpu_set_t mine;
  std::vector<int> processors;
  if (sched_getaffinity(0, sizeof mine, &mine) == 0)
    for (int i = 0; i < CPU_SETSIZE; ++i)
      if (CPU_ISSET(i, &mine)) processors.push_back(i);
  return processors;
}

std::vector<int> online() {
  std::string list;
  if (std::ifstream("/sys/devices/system/cpu/online") >> list) return processors_in(list);
  std::vector<int> processors(static_cast<size_t>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L)));
  std::iota(processors.begin(), processors.end(), 0);
  return processors;
}

}  // namespace

int allowed_cores() {
  // A bound rank sees only its own cores; the launcher has seen the node.
  if (const char* told = std::getenv("TUTTI_NODE_CORES"))
    if (const int cores = std::atoi(told); cores > 0) return cores;
  // srun may have bound this rank to a part of what the ranks of the node have together.
  std::vector<int> processors = cgroup_processors();
  if (processors.empty()) {
    processors = affinity();
    if (processors.size() <= 1) processors = online();
  }
  const Cores found = cores_of(processors);
  int cores = found.count;
  // Where no control group limits the step.
  if (const int granted = cores_by_slurm(std::getenv("SLURM_CPUS_ON_NODE"), found.threads_each))
    cores = std::min(cores, granted);
  // Rounded down: who polls on what is granted of a core in part is soon stopped.
  if (const double granted = cgroup_quota(); granted > 0) cores = std::min(cores, static_cast<int>(granted));
  return std::max(cores, 1);
}

}  // namespace tutti::boot
