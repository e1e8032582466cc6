// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/check/heap_blocks.hpp"

#include <features.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

namespace tutti::mpi {
namespace {

// A chunk of glibc's (malloc/malloc.c): a word that may belong to the block before it, its length with three marks in the
// lowest bits, and the block, which reaches one word into the next chunk.
constexpr uintptr_t kWord = sizeof(size_t), kHead = 2 * kWord, kLeast = 4 * kWord, kAlignment = 2 * kWord;
constexpr size_t kPreviousIsUsed = 1, kOwnMapping = 2, kOtherHeap = 4, kMarks = 7;

// What is read at most, for one buffer and by a process: some tenths of a millisecond, and a second.
constexpr uint64_t kMostChunks = uint64_t{1} << 17, kMostOfAll = uint64_t{1} << 28;

// Other threads may write here meanwhile; what does not fit together is dropped.
size_t word_at(uintptr_t address) {
  return __atomic_load_n(reinterpret_cast<const size_t*>(address), __ATOMIC_RELAXED);
}

// Where the first chunk of the main heap begins; 0: there is none.
uintptr_t find_heap() {
#if defined(__GLIBC__)
  std::FILE* const maps = std::fopen("/proc/self/maps", "re");
  if (!maps) return 0;
  uintptr_t begin = 0;
  for (char line[512]; begin == 0 && std::fgets(line, sizeof line, maps);)
    if (std::strstr(line, "[heap]") && std::sscanf(line, "%" SCNxPTR, &begin) != 1) begin = 0;
  (void)std::fclose(maps);
  return begin;
#else
  return 0;
#endif
}

}  // namespace

std::unique_ptr<HeapBlocks> HeapBlocks::find() {
  const uintptr_t begin = find_heap();
  return begin ? std::unique_ptr<HeapBlocks>(new HeapBlocks(begin)) : nullptr;
}

// The block that holds the first of these bytes, if they are known not to lie in it.
std::optional<HeapBlocks::Block> HeapBlocks::left_by(uintptr_t low, uintptr_t high) {
  const auto end = reinterpret_cast<uintptr_t>(::sbrk(0));
  if (low < begin_ + kHead || low >= end || seems_to_hold(low, high, end)) return {};
  const Lock lock(mutex_);
  const auto holds = [&](const Block& block) { return block.begin <= low && high <= block.end; };
  if (visited_ > kMostOfAll || std::ranges::any_of(found_, holds)) return {};
  const std::optional<Block> once = block_at(low, end), again = once ? block_at(low, end) : std::nullopt;
  if (!once || once != again) return {};
  if (!once->is_free && high <= once->end) {
    found_[next_++ % found_.size()] = *once;
    return {};
  }
  return once;
}

// A buffer that begins its block, as most do. Where it only looks like that, something may be overlooked.
bool HeapBlocks::seems_to_hold(uintptr_t low, uintptr_t high, uintptr_t end) {
  if (low % kAlignment != 0) return false;
  const uintptr_t chunk = low - kHead;
  const size_t size = word_at(chunk + kWord) & ~kMarks;
  return size >= kLeast && size < end - chunk && high <= chunk + size + kWord &&
         (word_at(chunk + size + kWord) & kPreviousIsUsed);
}

// By all chunks, from the first one to the end of the heap.
std::optional<HeapBlocks::Block> HeapBlocks::block_at(uintptr_t address, uintptr_t end) {
  std::optional<Block> found;
  uint64_t count = 0;
  for (uintptr_t chunk = begin_; chunk != end; ++count, ++visited_) {
    if (end - chunk < kLeast || count == kMostChunks) return {};
    const size_t word = word_at(chunk + kWord), size = word & ~kMarks;
    const bool is_chunk = size >= kLeast && size % kAlignment == 0 && size <= end - chunk;
    if (!is_chunk || (word & (kOwnMapping | kOtherHeap))) return {};
    const uintptr_t next = chunk + size;
    // The word before the next chunk's length belongs to a block that is used; the last chunk is what is left.
    if (address >= chunk + kHead && address < next + kWord) {
      const bool is_free = next == end || !(word_at(next + kWord) & kPreviousIsUsed);
      found = {chunk + kHead, next == end ? end : next + kWord, is_free};
    }
    chunk = next;
  }
  return found;
}

Error HeapBlocks::left_by(const Payload& payload, const char* side) {
  constexpr int kMostRuns = 4096;
  if (payload.count <= 0) return {};
  const auto base = reinterpret_cast<uintptr_t>(payload.base);
  uintptr_t first = 0;
  std::optional<Block> left;
  int runs = 0;
  (void)payload.layout->each_run(0, payload.bytes(), [&](int64_t at, int64_t bytes) {
    first = base + static_cast<uintptr_t>(at);
    left = left_by(first, first + static_cast<uintptr_t>(bytes));
    return !left && ++runs < kMostRuns;
  });
  if (!left) return {};
  const std::string where = base == 0 ? fmt::format("at the address {:#x}", first)  // MPI_BOTTOM
                                      : fmt::format("{} bytes behind its start",
                                                    static_cast<int64_t>((left->is_free ? first : left->end) - base));
  if (left->is_free)
    return failure(MPI_ERR_BUFFER, "{} the {} buffer lies in memory of the heap that is free: it was freed", where,
                   side);
  return failure(
      MPI_ERR_BUFFER,
      "{} the {} buffer leaves its block of the heap, of {} bytes: it is shorter than count and datatype say", where,
      side, left->end - left->begin);
}

}  // namespace tutti::mpi
