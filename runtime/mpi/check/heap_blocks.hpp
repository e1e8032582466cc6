// SPDX-License-Identifier: BSD-3-Clause
// What the C library's allocator knows of a program's heap, under --check=strict: a buffer that is longer than its block,
// or lies in memory that was freed, is told by the call that is given it, before the heap is destroyed.
//
// Nothing is replaced: glibc keeps the length of each block before it, and the blocks of its main heap lie in a row, so
// that all of them can be read from the first one on. A block counts only if that row leads through it and to the very
// end of the heap, twice: what another allocator, another thread or the program itself has put there does not, and then
// nothing is said. So of blocks that have mappings of their own (from 128 KiB on, at first), of those of other heaps, which
// threads may have, and of other C libraries nothing is known; and a block is as long as the allocator has made it, which
// is up to 15 bytes more than was asked for. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/layout.hpp"
#include "base/mutex.hpp"
#include "base/result.hpp"

namespace tutti::mpi {

class HeapBlocks {
 public:
  // nullptr: the program has no heap whose blocks can be read.
  static std::unique_ptr<HeapBlocks> find();

  // An error if a run of bytes of the buffer, which is called `side` ("send", "receive"), leaves its block of the heap. Of a
  // layout with gaps the first 4096 runs are looked at.
  Error left_by(const Payload& payload, const char* side);

 private:
  struct Block {
    uintptr_t begin = 0, end = 0;
    bool is_free = false;
    bool operator==(const Block&) const = default;
  };
  explicit HeapBlocks(uintptr_t begin) : begin_(begin) {}
  std::optional<Block> left_by(uintptr_t low, uintptr_t high);
  static bool seems_to_hold(uintptr_t low, uintptr_t high, uintptr_t end);
  std::optional<Block> block_at(uintptr_t address, uintptr_t end) TUTTI_REQUIRES(mutex_);

  const uintptr_t begin_;  // of the first chunk
  Mutex mutex_;
  // Blocks that were found lately, by turns. What lies in one is not looked for again; the block may be gone meanwhile.
  std::array<Block, 16> found_ TUTTI_GUARDED_BY(mutex_);
  size_t next_ TUTTI_GUARDED_BY(mutex_) = 0;
  uint64_t visited_ TUTTI_GUARDED_BY(mutex_) = 0;
};

}  // namespace tutti::mpi
