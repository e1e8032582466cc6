// SPDX-License-Identifier: BSD-3-Clause
#include "direct.hpp"

#include <fmt/format.h>
#include <time.h>

#include <atomic>
#include <cstring>
#include <string>
#include <unordered_map>

#include "base/commit.hpp"
#include "base/mutex.hpp"
#include "profile/profiler.hpp"
#include "tutti.h"

namespace tutti::lib::direct {
namespace {

constexpr uintptr_t kFirstNumber = 0x1000;  // below: the ABI's predefined handles

// Grows with the number of different addresses that were ever asked for. A number never gets another handle, so
// numbers are read without the lock, by every call from Fortran.
constexpr size_t kRow = size_t{1} << 12;
struct Row {
  std::atomic<const void*> handles[kRow];
};
constinit std::atomic<Row*> rows[(size_t{1} << 31) / kRow];  // by number - kFirstNumber

const void* handle_at(size_t index) {
  const Row* row = rows[index / kRow].load(std::memory_order_acquire);
  return row ? row->handles[index % kRow].load(std::memory_order_relaxed) : nullptr;
}

struct Numbers {
  Mutex mutex;
  std::unordered_map<const void*, int> of TUTTI_GUARDED_BY(mutex);
};
Numbers& numbers() {
  static auto* store = new Numbers;  // never destroyed: a thread may ask during exit
  return *store;
}

// Indices that were asked for last; whether one is right is seen at its place in the rows.
constinit std::atomic<uint32_t> recent[1024];
std::atomic<uint32_t>& recent_of(const void* handle) {
  return recent[(reinterpret_cast<uintptr_t>(handle) * 0x9e3779b97f4a7c15u) >> 54];
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
  std::atomic<uint32_t>& guess = recent_of(handle);
  const uint32_t index = guess.load(std::memory_order_relaxed);
  if (handle_at(index) == handle) return static_cast<int>(kFirstNumber + index);
  Numbers& n = numbers();
  const Lock lock(n.mutex);
  const size_t next = n.of.size();
  const auto [at, is_new] = n.of.try_emplace(handle, static_cast<int>(kFirstNumber + next));
  if (is_new) {
    std::atomic<Row*>& row = rows[next / kRow];
    if (!row.load(std::memory_order_relaxed)) row.store(new Row{}, std::memory_order_release);
    row.load(std::memory_order_relaxed)->handles[next % kRow].store(handle, std::memory_order_relaxed);
  }
  guess.store(static_cast<uint32_t>(at->second - static_cast<int>(kFirstNumber)), std::memory_order_relaxed);
  return at->second;
}

void* handle_numbered(int number) {
  if (number < 0) return nullptr;
  const auto value = static_cast<uintptr_t>(number);
  if (value < kFirstNumber) return reinterpret_cast<void*>(value);
  return const_cast<void*>(handle_at(value - kFirstNumber));
}

int pcontrol(int level, std::va_list more) {
  switch (level) {
    case 0:
    case 1:
      profile::count_calls(level == 1);
      break;
    case 2:
      profile::start_again();
      break;
    case TUTTI_PCONTROL_REGION_BEGIN:
      profile::enter_region(va_arg(more, const char*));
      break;
    case TUTTI_PCONTROL_REGION_END:
      profile::leave_region();
      break;
    default:
      break;  // some other tool's
  }
  return MPI_SUCCESS;
}

Error get_library_version(char* version, int* resultlen) {
  const std::string commit = *kCommit ? fmt::format(" ({})", kCommit) : "";
  const std::string text = fmt::format("Tutti {}{}, MPI {}.{}, ABI {}.{}", TUTTI_VERSION, commit, MPI_VERSION,
                                       MPI_SUBVERSION, MPI_ABI_VERSION, MPI_ABI_SUBVERSION);
  static_assert(MPI_MAX_LIBRARY_VERSION_STRING > 256);  // of which the text takes a third
  std::memcpy(version, text.c_str(), text.size() + 1);
  *resultlen = static_cast<int>(text.size());
  return {};
}

}  // namespace tutti::lib::direct
