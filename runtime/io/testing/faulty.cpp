// SPDX-License-Identifier: BSD-3-Clause
#include "io/testing/faulty.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

namespace tutti::io {

int Faulty::fault(int64_t& bytes) {
  if (faults_.each_takes.count() > 0) std::this_thread::sleep_for(faults_.each_takes);
  if (++calls_ == faults_.fails_at) return faults_.error;
  if (faults_.interrupted_of > 0 && chance_() % static_cast<unsigned>(faults_.interrupted_of) == 0)
    return EINTR;
  if (faults_.most_at_once < bytes)
    bytes = 1 + static_cast<int64_t>(chance_()) % faults_.most_at_once;
  return 0;
}

Moved Faulty::read(int64_t offset, void* into, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  ++reads;
  if (const int error = fault(bytes)) return {0, error};
  bytes = std::clamp<int64_t>(static_cast<int64_t>(data.size()) - offset, 0, bytes);
  if (bytes > 0) std::memcpy(into, data.data() + offset, static_cast<size_t>(bytes));
  return {bytes, 0};
}

Moved Faulty::write(int64_t offset, const void* from, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  ++writes;
  if (const int error = fault(bytes)) return {0, error};
  if (offset >= faults_.room) return {0, ENOSPC};
  bytes = std::min(bytes, faults_.room - offset);
  if (static_cast<int64_t>(data.size()) < offset + bytes)
    data.resize(static_cast<size_t>(offset + bytes));
  std::memcpy(data.data() + offset, from, static_cast<size_t>(bytes));
  return {bytes, 0};
}

int Faulty::reserve(int64_t bytes) {
  if (bytes > faults_.room) return ENOSPC;
  if (static_cast<int64_t>(data.size()) < bytes) data.resize(static_cast<size_t>(bytes));
  return 0;
}

int Faulty::lock(int64_t, int64_t, bool) {
  return ++locks, 0;
}
int Faulty::unlock(int64_t, int64_t) {
  return ++unlocks, 0;
}

}  // namespace tutti::io
