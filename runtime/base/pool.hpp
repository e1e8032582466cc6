// SPDX-License-Identifier: BSD-3-Clause
// Pooled<T>: makes `new T` and `delete` of a final class reuse memory that the same thread has
// given back, since the allocator is slow for more than a few objects of one size at a time. Holds
// on to a bounded number for each thread; any thread may delete what another one made. Does
// nothing under the address sanitizer, which is to see each object's end.
#pragma once

#include <cstddef>
#include <new>

namespace tutti {

#ifdef __SANITIZE_ADDRESS__
inline constexpr int kMostPooled = 0;
#else
inline constexpr int kMostPooled = 1024;
#endif

template <class T, int kMost = kMostPooled>
class Pooled {
 public:
  static void* operator new(size_t size) {
    Spares& spares = mine();
    if (kMost == 0 || !spares.first) return ::operator new(size);
    Spare* const spare = spares.first;
    spares.first = spare->next;
    --spares.count;
    return spare;
  }
  static void operator delete(void* memory) {
    Spares& spares = mine();
    if (spares.closed || spares.count >= kMost) return ::operator delete(memory);
    spares.first = new (memory) Spare{spares.first};
    ++spares.count;
  }

 private:
  struct Spare {
    Spare* next;
  };
  struct Spares {
    ~Spares() {
      closed = true;
      while (Spare* spare = first) {
        first = spare->next;
        ::operator delete(spare);
      }
    }
    Spare* first = nullptr;
    int count = 0;
    bool closed = false;  // the thread ends
  };
  static Spares& mine() {
    static thread_local Spares spares;
    return spares;
  }
};

}  // namespace tutti
