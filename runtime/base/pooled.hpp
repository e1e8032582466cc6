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

// The pools of a thread, for who asks what they hold, and for the end of the thread, which closes them. What is known of them is
// on the heap: there is little room for thread-locals of a library that a running program loads.
class PoolsHere {
 public:
  struct Pool {
    size_t (*idle_bytes)();
    void (*close)();
    Pool* next;
  };
  // False: the thread ends, or there is no memory.
  static bool add(size_t (*idle_bytes)(), void (*close)()) {
    static thread_local Closing closing;
    (void)&closing;
    Pool* const pool = are_closed ? nullptr : new (std::nothrow) Pool{idle_bytes, close, first};
    if (pool) first = pool;
    return pool != nullptr;
  }
  static size_t idle_bytes() {
    size_t all = 0;
    for (const Pool* pool = first; pool; pool = pool->next) all += pool->idle_bytes();
    return all;
  }

 private:
  struct Closing {
    ~Closing() {
      are_closed = true;
      while (const Pool* const pool = first) {
        pool->close();
        first = pool->next;
        delete pool;
      }
    }
  };
  static inline constinit thread_local Pool* first = nullptr;
  static inline constinit thread_local bool are_closed = false;
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
  };
  static void close() {
    mine.room = 0;
    while (Spare* const spare = mine.first) {
      mine.first = spare->next;
      ::operator delete(spare);
    }
  }
  // With the first that is given back. False: there is room for no more.
  [[gnu::noinline]] static bool opens() {
    if (kMost == 0 || std::exchange(mine.open, true)) return false;
    if (!PoolsHere::add(idle_bytes, close)) return false;
    mine.room = kMost;
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
