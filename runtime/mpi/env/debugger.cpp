// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/env/debugger.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "base/flight.hpp"
#include "base/log.hpp"

namespace tutti::mpi::env {
namespace {

constexpr auto kLook = std::chrono::milliseconds(50);
std::atomic<int> released{0};  // no bool: not each processor stores one byte at once
static_assert(std::atomic<int>::is_always_lock_free, "a signal's handler sets it");

void release(int) {
  released.store(1, std::memory_order_relaxed);
}

// While the debugger holds the process nothing of this runs: that it is seen means that it has let go on.
bool has_debugger() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "TracerPid:") {
      int pid = 0;
      return (status >> pid) && pid != 0;
    }
  return false;
}

}  // namespace

void wait_for_debugger(const boot::JobInfo& job) {
  const char* wanted = std::getenv("TUTTI_STOP_ON_START");
  if (!wanted || std::string_view(wanted) != "1") return;
  struct sigaction mine{}, before{};
  mine.sa_handler = release;
  ::sigemptyset(&mine.sa_mask);
  ::sigaction(SIGCONT, &mine, &before);
  // Where only a parent may attach (ptrace_scope), the user's debugger is not it.
  ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  say(Level::note, "process {} on {} waits in MPI_Init; attach a debugger: gdb -p {}", ::getpid(), job.host,
      ::getpid());
  flight::Record* const record = flight::mine();
  if (record) record->phase.store(flight::kAwaitsDebugger, std::memory_order_relaxed);
  while (released.load(std::memory_order_relaxed) == 0 && !has_debugger()) std::this_thread::sleep_for(kLook);
  if (record) record->phase.store(flight::kRuns, std::memory_order_relaxed);
  ::sigaction(SIGCONT, &before, nullptr);
}

}  // namespace tutti::mpi::env
