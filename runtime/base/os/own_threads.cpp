// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/own_threads.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>

#include "base/log.hpp"
#include "base/mutex.hpp"
#include "base/os/thread_sanitizer.hpp"
#include "base/signals.hpp"

namespace tutti {
namespace {

constexpr uint64_t bit_of(int signal) {
  return uint64_t{1} << (signal - 1);
}

// What the kernel says of such a mask: SIGKILL and SIGSTOP are never blocked, nor are the two that the C library keeps for
// itself and that have no names outside of it.
constexpr int kNeverBlocked[] = {SIGKILL, SIGSTOP, 32, 33};

constexpr uint64_t kMark = [] {
  uint64_t mask = ~uint64_t{0};
  for (const int signal : kRaisedByTheThread) mask &= ~bit_of(signal);
  mask &= ~bit_of(SIGSTKFLT);
  for (const int signal : kNeverBlocked) mask &= ~bit_of(signal);
  return mask;
}();

// Scopes of StartsOwnThreads so far. Sequentially consistent, as the marks between them are seen by way of the kernel.
std::atomic<uint64_t> begun{0}, ended{0};

struct Registered {
  Mutex mutex;
  std::vector<int> threads TUTTI_GUARDED_BY(mutex);
};
Registered& registered() {
  static auto& it = *new Registered;  // threads end after exit handlers, too
  return it;
}

// 0: it has just ended, or nothing is told.
uint64_t mask_of(int thread) {
  FILE* file = std::fopen(fmt::format("/proc/self/task/{}/status", thread).c_str(), "re");
  if (!file) return 0;
  char line[256];
  unsigned long long mask = 0;
  while (std::fgets(line, sizeof line, file))
    if (std::sscanf(line, "SigBlk: %llx", &mask) == 1) break;
  std::fclose(file);
  return mask;
}

// ThreadSanitizer has a thread that sleeps and tidies up by turns. It blocks all signals (some versions leave SIGSYS),
// which a program's may do, too, but sleeps by a system call that the C library has given up for clock_nanosleep.
bool is_sanitizers(int thread, uint64_t mask) {
  constexpr uint64_t kAll = [] {
    uint64_t all = ~uint64_t{0};
    for (const int signal : kNeverBlocked) all &= ~bit_of(signal);
    return all;
  }();
  if (!is_under_thread_sanitizer() || (mask | bit_of(SIGSYS)) != kAll) return false;
  FILE* file = std::fopen(fmt::format("/proc/self/task/{}/syscall", thread).c_str(), "re");
  if (!file) return false;
  long number = -1;
  const bool is_told = std::fscanf(file, "%ld", &number) == 1;
  std::fclose(file);
  return is_told && number == SYS_nanosleep;
}

}  // namespace

OwnThread::OwnThread() {
  const Lock lock(registered().mutex);
  registered().threads.push_back(::gettid());
}

OwnThread::~OwnThread() {
  const Lock lock(registered().mutex);
  std::erase(registered().threads, ::gettid());
}

StartsOwnThreads::StartsOwnThreads() {
  ++begun;
  sigset_t mark;
  ::sigfillset(&mark);
  for (const int signal : kRaisedByTheThread) ::sigdelset(&mark, signal);
  ::sigdelset(&mark, SIGSTKFLT);
  ::pthread_sigmask(SIG_SETMASK, &mark, &before_);
}

StartsOwnThreads::~StartsOwnThreads() {
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  ++ended;
}

std::optional<std::vector<int>> without_own_threads(const std::vector<int>& threads) {
  const uint64_t ended_before = ended;
  std::vector<int> others;
  for (const int thread : threads) {
    {
      const Lock lock(registered().mutex);
      if (std::ranges::find(registered().threads, thread) != registered().threads.end()) continue;
    }
    const uint64_t mask = mask_of(thread);
    if (mask != kMark && !is_sanitizers(thread, mask)) others.push_back(thread);
  }
  // Each scope that had begun by now was over before the first mask was read: no maker has been seen with the mark.
  if (begun != ended_before) return std::nullopt;
  return others;
}

}  // namespace tutti
