// SPDX-License-Identifier: BSD-3-Clause
// The buffers of operations that are not complete, under --check=strict: until then nothing else may
// touch what an operation writes, and nothing may write what it reads (the standard, 3.7.2 and 6.12).
// Two layouts that are interleaved without sharing a byte are right. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/layout.hpp"
#include "base/mutex.hpp"
#include "base/result.hpp"
#include "mpi/object/incident.hpp"

namespace tutti::mpi {

struct BufferUse {
  Payload payload;
  bool writes = false;
  const void* fence_of = nullptr;  // the window whose next MPI_Win_fence completes it, and nothing before
  bool by_program = false;         // meanwhile functions of the program's are given it, to reduce or convert
  bool reads_too = false;          // what it writes it has read before: it is in place
};

// Does a byte lie in both? True only if that is sure.
bool share_a_byte(const Payload& a, const Payload& b);

// Do entries of it overlap, so that a byte would be written twice? True only if that is sure.
bool overlaps_itself(const Payload& payload);

class Outstanding {
 public:
  // The operation `owner` uses these from now on, if that is right: the layouts outlive it there.
  Error take(const void* owner, std::span<const BufferUse> uses);
  void give_to(const void* owner, const void* new_owner);
  void drop(const void* owner);  // it is complete, or has never been there

  // Of an operation that writes to some of [begin, end): where it was started.
  std::optional<CallSite> writer(uintptr_t begin, uintptr_t end);

  // For tests.
  size_t count() const {
    const Lock lock(mutex_);
    return read_.taken.size() + written_.taken.size();
  }

 private:
  struct Taken {
    uintptr_t end;
    BufferUse use;
    const void* owner;
    CallSite place;
  };
  using Map = std::multimap<uintptr_t, Taken>;  // by the first address
  struct Book {
    Map taken;
    uintptr_t longest = 0;  // of those in it, or more

    const Taken* shares(uintptr_t begin, uintptr_t end, const BufferUse& use) const;
  };
  const Taken* conflict_of(uintptr_t begin, uintptr_t end, const BufferUse& use) const TUTTI_REQUIRES(mutex_);
  void drop_locked(const void* owner) TUTTI_REQUIRES(mutex_);

  mutable Mutex mutex_;
  // Apart, since what is only read may be in use by any number of operations, which do not matter to one more that reads.
  Book read_ TUTTI_GUARDED_BY(mutex_), written_ TUTTI_GUARDED_BY(mutex_);
  std::unordered_map<const void*, std::vector<Map::iterator>> of_owner_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::mpi
