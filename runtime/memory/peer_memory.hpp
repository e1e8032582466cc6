// SPDX-License-Identifier: BSD-3-Clause
// The mover between this process's memory and another one's by the kernel (process_vm_readv, process_vm_writev), where
// that is allowed: not in some containers, not under some security modules, not across PID namespaces. Asks nobody in
// advance but tries, once for each peer, with a word whose value is known. What was allowed may be refused later (a
// process that makes itself undumpable, a filter of system calls that is put in place): then a copy fails, and
// what is left goes another way.
#pragma once

#include <cstdint>
#include <memory>

#include "base/layout.hpp"
#include "memory/region.hpp"

namespace tutti::memory {

// A word in a process's own memory, for others to try whether they can read that. Plain, for shared memory.
struct KnownWord {
  int32_t pid;
  uint64_t address, value;
};

// A value for such a word: no other process's memory passes for the one in which it stands.
std::unique_ptr<const uint64_t> value_to_know();

// Used by one thread at a time.
class PeerMemory {
 public:
  // `word`, the peer's, stays where it is. `wanted`: false means that the kernel is not to be asked.
  PeerMemory(const KnownWord& word, bool wanted) : word_(&word), state_(wanted ? State::untried : State::closed) {}

  // kernel_copies, or messages. Tries on the first call; messages for ever once the kernel has refused.
  Reach reach();

  // Packed bytes [offset, offset + length) of `into`, from the peer's memory at `address`, which holds byte `offset`.
  // False: it cannot be read (any more), and some of them may have been.
  bool read(uint64_t address, const Payload& into, int64_t offset, int64_t length);
  // The other way, in one run. False: it cannot be written (any more), and some of it may have been.
  bool write(uint64_t address, const std::byte* from, int64_t length);

  // It could be read, and the kernel knows of no such process any more.
  bool is_gone() const { return state_ == State::gone; }

  // Bytes a second at which the kernel copies this way, by some reads of my own memory, which take as long but for the
  // way between the caches; 0 where the peer's cannot be read. Takes about a tenth of a millisecond.
  int64_t measure_rate();

 private:
  bool read_run(uint64_t address, void* into, int64_t length);
  void close();

  const KnownWord* word_;
  enum class State : uint8_t { untried, readable, closed, gone } state_;
};

}  // namespace tutti::memory
