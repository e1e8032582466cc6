// SPDX-License-Identifier: BSD-3-Clause
// Reading and writing another process's memory (process_vm_readv, process_vm_writev), where the
// kernel allows it: not in some containers, not under some security modules, not across PID
// namespaces. Asks nobody in advance but tries, once for each peer, with a word whose value is
// known.
#pragma once

#include <cstdint>

#include "base/layout.hpp"
#include "transport/shared/node_segment.hpp"

namespace tutti::transport {

class PeerMemory {
 public:
  explicit PeerMemory(const Desk& desk) : desk_(&desk) {}

  // Tries on the first call.
  bool readable();

  // Packed bytes [offset, offset + length) of `into`, from the peer's memory at `address`, which
  // holds byte `offset`. False: it cannot be read (any more).
  bool read(uint64_t address, const Payload& into, int64_t offset, int64_t length);
  // The other way, in one run. False: it cannot be written (any more).
  bool write(uint64_t address, const std::byte* from, int64_t length);
  // It could be read, and the kernel knows of no such process any more.
  bool is_gone() const { return state_ == State::gone; }

  // Bytes a second at which the kernel copies this way, by some reads of my own memory, which take
  // as long but for the way between the caches; 0 where the peer's cannot be read. Takes about a
  // tenth of a millisecond.
  int64_t measure_rate();

 private:
  bool read_run(uint64_t address, void* into, int64_t length);

  const Desk* desk_;
  enum class State : uint8_t { untried, readable, closed, gone } state_ = State::untried;
};

}  // namespace tutti::transport
