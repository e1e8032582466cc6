// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shared/peer_memory.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <vector>

#include "base/log.hpp"
#include "memory/movers.hpp"

namespace tutti::transport {
namespace {

constexpr size_t kMeasured = 64 << 10;
constexpr int kMeasurements = 8;
constexpr int64_t kBounce = 32 << 10;  // stays in the first-level cache until it is unpacked

}  // namespace

bool PeerMemory::readable() {
  if (state_ == State::untried) {
    uint64_t word = 0;
    const bool fine = read_run(desk_->token_address, &word, sizeof word) && word == desk_->token;
    if (!fine)
      say(Level::debug,
          "the memory of process {} cannot be read from here ({}): long messages "
          "from it are copied through shared memory",
          desk_->pid, strerror(errno));
    state_ = fine ? State::readable : State::closed;
  }
  return state_ == State::readable;
}

bool PeerMemory::read_run(uint64_t address, void* into, int64_t length) {
  auto* to = static_cast<std::byte*>(into);
  while (length > 0) {
    iovec here{to, static_cast<size_t>(length)};
    iovec there{reinterpret_cast<void*>(address), static_cast<size_t>(length)};
    const ssize_t n = process_vm_readv(desk_->pid, &here, 1, &there, 1, 0);
    if (n <= 0) {
      const bool gone = n < 0 && errno == ESRCH && state_ == State::readable;
      state_ = gone ? State::gone : State::closed;
      return false;
    }
    to += n;
    address += static_cast<uint64_t>(n);
    length -= n;
  }
  return true;
}

bool PeerMemory::read(uint64_t address, const Payload& into, int64_t offset, int64_t length) {
  if (into.contiguous()) return read_run(address, into.data() + offset, length);
  alignas(kLine) std::byte bounce[kBounce];
  for (int64_t done = 0; done < length;) {
    const int64_t piece = std::min(kBounce, length - done);
    if (!read_run(address + static_cast<uint64_t>(done), bounce, piece)) return false;
    memory::unpack(into, offset + done, bounce, piece);
    done += piece;
  }
  return true;
}

bool PeerMemory::write(uint64_t address, const std::byte* from, int64_t length) {
  while (length > 0) {
    iovec here{const_cast<std::byte*>(from), static_cast<size_t>(length)};
    iovec there{reinterpret_cast<void*>(address), static_cast<size_t>(length)};
    const ssize_t n = process_vm_writev(desk_->pid, &here, 1, &there, 1, 0);
    if (n <= 0) return false;
    from += n;
    address += static_cast<uint64_t>(n);
    length -= n;
  }
  return true;
}

// The fastest: in the others something else ran.
int64_t PeerMemory::measure_rate() {
  if (!readable()) return 0;
  std::vector<std::byte> memory(2 * kMeasured);
  const iovec here{memory.data(), kMeasured}, there{memory.data() + kMeasured, kMeasured};
  int64_t rate = 0;
  for (int i = 0; i < kMeasurements; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) != static_cast<ssize_t>(kMeasured)) return 0;
    const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begin;
    rate = std::max(rate, static_cast<int64_t>(kMeasured) * 1'000'000'000 / std::max<int64_t>(took.count(), 1));
  }
  say(Level::debug, "the kernel reads memory of a process of this node at {:.1f} GB/s",
      1e-9 * static_cast<double>(rate));
  return rate;
}

}  // namespace tutti::transport
