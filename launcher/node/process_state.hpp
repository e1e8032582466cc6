// SPDX-License-Identifier: BSD-3-Clause
// What the kernel says of a thread: whether it runs, and in which system call it is blocked. Read
// from /proc, without the thread's help; says less where the kernel does not tell us.
#pragma once

#include <string>

namespace tutti::launcher {

struct KernelState {
  char state = '?';   // as in /proc/PID/stat: R, S, D, T, Z, …
  std::string doing;  // "running", "asleep in read of pipe:[7]", "stopped"; empty: not known
};

// Of one thread of a process; 0: the first one.
KernelState kernel_state(int process, int thread = 0);

// Of the environment that the process was started with; empty: there is none, or it may not be read.
std::string variable_of_process(int process, const std::string& name);

}  // namespace tutti::launcher
