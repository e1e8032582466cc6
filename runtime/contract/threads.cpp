// SPDX-License-Identifier: BSD-3-Clause
#include "contract/threads.hpp"

#include <dirent.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "base/log.hpp"
#include "base/os/own_threads.hpp"

namespace tutti::contract {
namespace {

std::vector<int> all_threads() {
  std::vector<int> threads;
  if (DIR* folder = opendir("/proc/self/task")) {
    while (const dirent* entry = readdir(folder))
      if (const int id = std::atoi(entry->d_name)) threads.push_back(id);
    closedir(folder);
  }
  return threads;
}

bool contains(const std::vector<int>& threads, int thread) {
  return std::ranges::find(threads, thread) != threads.end();
}

// "NUMBER ARGUMENTS…" of the system call that it sleeps in.
bool sleeps_until_woken_here(int thread, const std::vector<int>& all, std::span<const std::byte> queue) {
  FILE* file = std::fopen(fmt::format("/proc/self/task/{}/syscall", thread).c_str(), "re");
  if (!file) return false;
  long number = -1;
  unsigned long word = 0, operation = 0, value = 0, time = 1;
  const int read = std::fscanf(file, "%ld %lx %lx %lx %lx", &number, &word, &operation, &value, &time);
  std::fclose(file);
  if (read != 5 || number != SYS_futex || time != 0) return false;
  const auto first = reinterpret_cast<uintptr_t>(queue.data());
  if (word >= first && word < first + queue.size()) return false;
  const unsigned long what = operation & static_cast<unsigned long>(FUTEX_CMD_MASK);
  if (what != FUTEX_WAIT && what != FUTEX_WAIT_BITSET) return false;
  // A word that others may share is taken for one of another process, but for that of a join.
  return (operation & FUTEX_PRIVATE_FLAG) != 0 || contains(all, static_cast<int>(value));
}

}  // namespace

bool none_may_act_but(const std::vector<int>& waiting, std::span<const std::byte> queue) {
  const std::vector<int> all = all_threads();
  if (all.empty()) return false;
  const std::optional<std::vector<int>> others = without_own_threads(all);
  return others && std::ranges::all_of(*others, [&](int thread) {
           return contains(waiting, thread) || sleeps_until_woken_here(thread, all, queue);
         });
}

}  // namespace tutti::contract
