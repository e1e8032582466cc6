// SPDX-License-Identifier: BSD-3-Clause
// The peak of a process's resident memory, as the kernel tells it, set back before what is looked
// at.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <fstream>

#include "check.hpp"

constexpr int kSkipped = 77;  // SKIP_RETURN_CODE of the tests

// In KiB; negative: not to be had.
inline long peak() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::atol(line.c_str() + 6);
  return -1;
}
inline bool set_peak_back() {
  const int file = open("/proc/self/clear_refs", O_WRONLY);
  const bool done = file >= 0 && write(file, "5", 1) == 1;
  if (file >= 0) close(file);
  return done;
}

// A peak of more than the bound that comes and goes is seen, and can be set back.
inline bool peaks_are_seen(long bound) {
  if (!set_peak_back()) return false;
  const long before = peak();
  {
    std::vector<char> aside(32 << 20, 'x');
    volatile char sink = aside[aside.size() / 2];
    static_cast<void>(sink);
  }
  const long after = peak();
  return before > 0 && after - before > bound && set_peak_back() && peak() < after - bound;
}

// Else says that the test is skipped.
inline bool peaks_are_seen_by_all(long bound) {
  const int mine = peaks_are_seen(bound);
  int all = 0;
  OK(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  if (!all && check::world_rank == 0) std::puts("skipped: this kernel does not tell, or set back, peaks of memory");
  return all;
}
