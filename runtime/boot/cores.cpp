// SPDX-License-Identifier: BSD-3-Clause
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

#include "boot/job.hpp"

namespace tutti::boot {
namespace {

// Whole cores of time that the cgroup (version 2) grants; 0: no limit.
int quota() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string granted;
  double period = 0;
  if (!(file >> granted >> period) || granted == "max" || period <= 0) return 0;
  return std::max(1, static_cast<int>(std::atof(granted.c_str()) / period + 0.5));
}

}  // namespace

int allowed_cores() {
  // A bound rank sees only its own cores; the launcher has seen the node.
  if (const char* told = std::getenv("TUTTI_NODE_CORES"))
    if (const int cores = std::atoi(told); cores > 0) return cores;
  cpu_set_t mine;
  int cores = sched_getaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : 1;
  if (cores == 1) cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));  // bound by srun
  if (const int granted = quota()) cores = std::min(cores, granted);
  return std::max(cores, 1);
}

}  // namespace tutti::boot
