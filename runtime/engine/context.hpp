// SPDX-License-Identifier: BSD-3-Clause
// Context ids, which keep the messages of different communicators apart. An id is made by one
// process, the new communicator's first, and told to the others: nobody has to agree on a free
// number, so that communicators can be made without blocking. Slots are reused after release, with
// another generation, so that a late message of the old communicator meets nobody.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/mutex.hpp"
#include "base/random.hpp"
#include "base/result.hpp"

namespace tutti::engine {

//  63       40 39      20 19         1   0
// |  owner    |   slot   | generation |hidden|
inline constexpr uint64_t kNoContext = 0;

// Contexts of communicators whose processes are of several jobs, and of those that are made out of these, are random:
// nobody there could agree on an owner. The highest bit tells them from the others, the next one from the engine's own.
constexpr bool spans_jobs(uint64_t context) {
  return context >> 63 != 0;
}
inline uint64_t random_context() {
  return (random_word() & ~(uint64_t{1} << 62) & ~uint64_t{1}) | uint64_t{1} << 63;
}

class ContextPool {
 public:
  static constexpr int kSlotBits = 20, kGenerationBits = 19;

  // `owner`: my process id. Slots 0 and 1 are those of MPI_COMM_WORLD and MPI_COMM_SELF.
  explicit ContextPool(int owner) : owner_(static_cast<uint64_t>(owner)), generations_(2, 1) {}

  static uint64_t world() { return id(0, 0, 1); }
  uint64_t self() const { return id(owner_, 1, 1); }
  // Of messages that make a communicator without a parent: no id that acquire() gives, and a hidden one, which
  // no program can send on.
  static constexpr uint64_t without_parent() { return uint64_t{1} << (1 + kGenerationBits) | 1; }

  // A fresh id, kNoContext when all slots are in use. Any thread.
  uint64_t acquire() {
    const Lock lock(mutex_);
    if (!free_.empty()) {
      const uint64_t slot = free_.front();  // the one that was released longest ago
      free_.pop_front();
      return id(owner_, slot, ++generations_[slot] & ((1u << kGenerationBits) - 1));
    }
    if (generations_.size() >> kSlotBits) return kNoContext;
    generations_.push_back(1);
    return id(owner_, generations_.size() - 1, 1);
  }

  // Of an id that any process made: takes effect on its owner. Any thread.
  void release(uint64_t context) {
    const uint64_t slot = slot_of(context);
    if (context >> (1 + kGenerationBits + kSlotBits) != owner_ || slot < 2) return;
    const Lock lock(mutex_);
    free_.push_back(slot);
  }

  // What an id is made of, for those who keep something for each communicator.
  static int owner_of(uint64_t context) { return static_cast<int>(context >> (1 + kGenerationBits + kSlotBits)); }
  static uint32_t slot_of(uint64_t context) {
    return static_cast<uint32_t>(context >> (1 + kGenerationBits) & ((1u << kSlotBits) - 1));
  }
  static uint32_t generation_of(uint64_t context) {
    return static_cast<uint32_t>(context >> 1 & ((1u << kGenerationBits) - 1));
  }

  // For tests: how many were ever needed.
  size_t slots() const {
    const Lock lock(mutex_);
    return generations_.size();
  }

 private:
  static uint64_t id(uint64_t owner, uint64_t slot, uint64_t generation) {
    return ((owner << kSlotBits | slot) << kGenerationBits | generation) << 1;
  }

  const uint64_t owner_;
  mutable Mutex mutex_;
  std::vector<uint32_t> generations_ TUTTI_GUARDED_BY(mutex_);  // by slot
  std::deque<uint64_t> free_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::engine
