// SPDX-License-Identifier: BSD-3-Clause
// The memory of a ring of records, as it lies in what a node's ranks share. Who writes which word, and when,
// is the ring's matter (transport/shm/ring.hpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "base/cpu.hpp"

namespace tutti::transport {

using cpu::kLine;
using cpu::whole_lines;

// A long message that both sides copy, the reader of the ring from its front and the writer from
// its back, a piece at a time (incomings_joint.cpp). Whoever changes `taken` has the piece.
struct Joint {
  std::atomic<uint64_t> taken;               // which message; pieces from the front, from the back
  std::atomic<uint64_t> written;             // which message; pieces that the writer has copied, or has failed to
  std::atomic<uint64_t> into, bytes, piece;  // where it goes in the reader's memory; sizes
};

// The memory of a ring: zero-filled when it is new. What follows the line are the records.
struct RingMemory {
  alignas(kLine) std::atomic<uint64_t> consumed;  // bytes, since the beginning; by the reader
  Joint joint;
  alignas(kLine) std::byte records[kLine];  // as many as the ring's size leaves

  static constexpr size_t capacity(size_t size) { return size - kLine; }
  // As new, when nobody uses it.
  void clear() {
    consumed.store(0, std::memory_order_relaxed);
    word(0).store(0, std::memory_order_relaxed);
  }
  std::atomic<uint64_t>& word(size_t offset) {
    return *std::launder(reinterpret_cast<std::atomic<uint64_t>*>(records + offset));
  }
};
static_assert(std::atomic<uint64_t>::is_always_lock_free && offsetof(RingMemory, records) == kLine);

}  // namespace tutti::transport
