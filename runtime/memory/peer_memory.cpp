// SPDX-License-Identifier: BSD-3-Clause
#include "memory/peer_memory.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <random>
#include <vector>

#include "base/cpu.hpp"
#include "base/log.hpp"
#include "memory/movers.hpp"

namespace tutti::memory {
namespace {

constexpr size_t kMeasured = 64 << 10;
constexpr int kMeasurements = 8;
constexpr int64_t kReadAside = 32 << 10;  // stays in the first-level cache until it is unpacked

// process_vm_readv or process_vm_writev of one run, as far as it takes to be done with it. False: errno says why.
template <class Call>
bool copy_run(Call call, pid_t pid, uint64_t there, std::byte* here, int64_t length) {
  while (length > 0) {
    const iovec local{here, static_cast<size_t>(length)};
    const iovec remote{reinterpret_cast<void*>(there), static_cast<size_t>(length)};
    const ssize_t n = call(pid, &local, 1, &remote, 1, 0);
    if (n <= 0) return false;
    here += n;
    there += static_cast<uint64_t>(n);
    length -= n;
  }
  return true;
}

}  // namespace

std::unique_ptr<const uint64_t> value_to_know() {
  std::random_device random;
  return std::make_unique<const uint64_t>(static_cast<uint64_t>(random()) << 32 | random());
}

Reach PeerMemory::reach() {
  if (state_ == State::untried) {
    uint64_t word = 0;
    const bool fine = read_run(word_->address, &word, sizeof word) && word == word_->value;
    if (!fine)
      say(Level::debug,
          "the memory of process {} cannot be read from here ({}): long messages "
          "from it are copied through shared memory",
          word_->pid, strerror(errno));
    state_ = fine ? State::readable : State::closed;
  }
  return state_ == State::readable ? Reach::kernel_copies : Reach::messages;
}

bool PeerMemory::read_run(uint64_t address, void* into, int64_t length) {
  if (copy_run(process_vm_readv, word_->pid, address, static_cast<std::byte*>(into), length)) return true;
  close();
  return false;
}

// By what errno says.
void PeerMemory::close() {
  state_ = errno == ESRCH && state_ == State::readable ? State::gone : State::closed;
}

bool PeerMemory::read(uint64_t address, const Payload& into, int64_t offset, int64_t length) {
  if (length <= 0) return true;
  if (into.contiguous()) return read_run(address, into.data() + offset, length);
  alignas(cpu::kLine) std::byte aside[kReadAside];
  for (int64_t done = 0; done < length;) {
    const int64_t piece = std::min(kReadAside, length - done);
    if (!read_run(address + static_cast<uint64_t>(done), aside, piece)) return false;
    unpack(into, offset + done, aside, piece);
    done += piece;
  }
  return true;
}

bool PeerMemory::write(uint64_t address, const std::byte* from, int64_t length) {
  if (copy_run(process_vm_writev, word_->pid, address, const_cast<std::byte*>(from), length)) return true;
  // Memory that is only to be read is no reason to read no more of the peer's; that the kernel refuses is.
  if (errno == EPERM || errno == ESRCH) close();
  return false;
}

// The fastest: in the others something else ran.
int64_t PeerMemory::measure_rate() {
  if (reach() != Reach::kernel_copies) return 0;
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

}  // namespace tutti::memory
