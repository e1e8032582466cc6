// SPDX-License-Identifier: BSD-3-Clause
#include "direct.hpp"

#include <time.h>

#include <mutex>
#include <unordered_map>
#include <vector>

namespace tutti::lib::direct {
namespace {

constexpr uintptr_t kFirstNumber = 0x1000;  // below: the ABI's predefined handles

// Grows with the number of different addresses that were ever asked for.
struct Numbers {
  std::mutex mutex;
  std::unordered_map<const void*, int> of;
  std::vector<const void*> handles;  // by number - kFirstNumber
};

Numbers& numbers() {
  static auto* store = new Numbers;  // never destroyed: a thread may ask during exit
  return *store;
}

double seconds(const timespec& t) {
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

double wtime() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return seconds(now);
}

double wtick() {
  timespec resolution;
  clock_getres(CLOCK_MONOTONIC, &resolution);
  return seconds(resolution);
}

int number_of(const void* handle) {
  const auto value = reinterpret_cast<uintptr_t>(handle);
  if (value < kFirstNumber) return static_cast<int>(value);
  Numbers& n = numbers();
  const std::lock_guard lock(n.mutex);
  const auto [at, is_new] =
      n.of.try_emplace(handle, static_cast<int>(kFirstNumber + n.handles.size()));
  if (is_new) n.handles.push_back(handle);
  return at->second;
}

void* handle_numbered(int number, void* null) {
  if (number < 0) return null;
  const auto value = static_cast<uintptr_t>(number);
  if (value < kFirstNumber) return reinterpret_cast<void*>(value);
  Numbers& n = numbers();
  const std::lock_guard lock(n.mutex);
  const size_t index = value - kFirstNumber;
  return index < n.handles.size() ? const_cast<void*>(n.handles[index]) : null;
}

}  // namespace tutti::lib::direct
