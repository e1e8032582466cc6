// SPDX-License-Identifier: BSD-3-Clause
// Pooled<T>: makes `new T` and `delete` of a final class reuse memory that the same thread has
// given back, since the allocator is slow for more than a few objects of one size at a time. Holds
// on to a bounded number for each thread; any thread may delete what another one made. Does
// nothing under the address sanitizer, which is to see each object's end.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace tutti {

#ifdef __SANITIZE_ADDRESS__
inline constexpr int kMostPooled = 0;
#else
inline constexpr int kMostPooled = 1024;
#endif

// The pools of a thread, for who asks what they hold.
class PoolsHere {
 public:
  struct Pool {
    size_t (*idle_bytes)() = nullptr;
    Pool* next = nullptr;
  };
  static void add(Pool& pool) { pool.next = std::exchange(first, &pool); }
  static size_t idle_bytes() {
    size_t all = 0;
    for (const Pool* pool = first; pool; pool = pool->next) all += pool->idle_bytes();
    return all;
  }

 private:
  static inline constinit thread_local Pool* first = nullptr;
};

template <class T, int kMost = kMostPooled>
class Pooled {
 public:
  static void* operator new(size_t size) {
    Spare* const spare = mine.first;
    if (!spare) [[unlikely]]
      return ::operator new(size);
    mine.first = spare->next;
    ++mine.room;
    return spare;
  }
  static void operator delete(void* memory) {
    if (mine.room == 0 && !opens()) [[unlikely]]
      return ::operator delete(memory);
    mine.first = new (memory) Spare{mine.first};
    --mine.room;
  }

 private:
  struct Spare {
    Spare* next;
  };
  // Of this thread. Nothing that is made when the thread first comes here: that would be asked for
  // in each call.
  struct Spares {
    Spare* first = nullptr;
    int room = 0;  // for so many more; none before it is open and when the thread ends
    bool open = false;
    PoolsHere::Pool pool;
  };
  struct Closing {
    ~Closing() {
      mine.room = 0;
      while (Spare* const spare = mine.first) {
        mine.first = spare->next;
        ::operator delete(spare);
      }
    }
  };
  // With the first that is given back. False: there is room for no more.
  [[gnu::noinline]] static bool opens() {
    if (kMost == 0 || std::exchange(mine.open, true)) return false;
    static thread_local Closing closing;
    (void)&closing;
    mine.room = kMost;
    mine.pool.idle_bytes = idle_bytes;
    PoolsHere::add(mine.pool);
    return true;
  }
  // Counted when somebody asks, so that nobody else need count.
  static size_t idle_bytes() {
    size_t all = 0;
    for (const Spare* spare = mine.first; spare; spare = spare->next) all += sizeof(T);
    return all;
  }
  static inline constinit thread_local Spares mine;
};

}  // namespace tutti
