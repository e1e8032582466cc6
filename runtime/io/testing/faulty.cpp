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
  if (faults_.interrupted_of > 0 && chance_() % static_cast<unsigned>(faults_.interrupted_of) == 0) return EINTR;
  if (faults_.most_at_once < bytes) bytes = 1 + static_cast<int64_t>(chance_()) % faults_.most_at_once;
  return 0;
}

Moved Faulty::there(int64_t offset, int64_t bytes) {
  ++reads;
  if (const int error = fault(bytes)) return {0, error};
  return {std::clamp<int64_t>(static_cast<int64_t>(data.size()) - offset, 0, bytes), 0};
}

Moved Faulty::room(int64_t offset, int64_t bytes) {
  ++writes;
  if (const int error = fault(bytes)) return {0, error};
  if (offset >= faults_.room) return {0, ENOSPC};
  bytes = std::min(bytes, faults_.room - offset);
  if (static_cast<int64_t>(data.size()) < offset + bytes) data.resize(static_cast<size_t>(offset + bytes));
  return {bytes, 0};
}

Moved Faulty::read(int64_t offset, void* into, int64_t bytes) {
  const iovec one{into, static_cast<size_t>(bytes)};
  return read(offset, {&one, 1});
}

Moved Faulty::write(int64_t offset, const void* from, int64_t bytes) {
  const iovec one{const_cast<void*>(from), static_cast<size_t>(bytes)};
  return write(offset, {&one, 1});
}

namespace {

int64_t bytes_of(std::span<const iovec> parts) {
  size_t bytes = 0;
  for (const iovec& part : parts) bytes += part.iov_len;
  return static_cast<int64_t>(bytes);
}

// copy(part, how far from the beginning, bytes) of the first `bytes` of them.
template <class Copy>
void each_part(std::span<const iovec> parts, int64_t bytes, Copy&& copy) {
  auto left = static_cast<size_t>(bytes);
  size_t at = 0;
  for (const iovec& part : parts) {
    const size_t now = std::min(part.iov_len, left);
    if (now > 0) copy(part.iov_base, at, now);
    at += now;
    left -= now;
  }
}

}  // namespace

Moved Faulty::read(int64_t offset, std::span<const iovec> into) {
  const Lock lock(mutex_);
  const Moved now = there(offset, bytes_of(into));
  const std::byte* const from = data.data();
  each_part(into, now.bytes, [&](void* part, size_t at, size_t bytes) {
    std::memcpy(part, from + static_cast<size_t>(offset) + at, bytes);
  });
  return now;
}

Moved Faulty::write(int64_t offset, std::span<const iovec> from) {
  const Lock lock(mutex_);
  const Moved now = room(offset, bytes_of(from));
  std::byte* const into = data.data();
  each_part(from, now.bytes, [&](const void* part, size_t at, size_t bytes) {
    std::memcpy(into + static_cast<size_t>(offset) + at, part, bytes);
  });
  return now;
}

int Faulty::size(int64_t& bytes) {
  const Lock lock(mutex_);
  return bytes = static_cast<int64_t>(data.size()), 0;
}

int Faulty::resize(int64_t bytes) {
  const Lock lock(mutex_);
  return data.resize(static_cast<size_t>(bytes)), 0;
}

int Faulty::reserve(int64_t bytes) {
  const Lock lock(mutex_);
  if (bytes > faults_.room) return ENOSPC;
  if (static_cast<int64_t>(data.size()) < bytes) data.resize(static_cast<size_t>(bytes));
  return 0;
}

int Faulty::lock(int64_t offset, int64_t bytes, bool) {
  locked_at = offset;
  locked_bytes = bytes;
  return ++locks, 0;
}
int Faulty::unlock(int64_t, int64_t) {
  return ++unlocks, 0;
}

}  // namespace tutti::io
