// SPDX-License-Identifier: BSD-3-Clause
// A std::mutex, and a lock of it for a scope, of which clang can prove that who touches what it guards holds it
// (base/thread_safety.hpp): those of the standard library do not say so.
#pragma once

#include <mutex>

#include "base/thread_safety.hpp"

namespace tutti {

class TUTTI_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;

  void lock() TUTTI_ACQUIRES() TUTTI_NOT_PROVEN { mutex_.lock(); }
  void unlock() TUTTI_RELEASES() TUTTI_NOT_PROVEN { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class TUTTI_SCOPED_CAPABILITY Lock {
 public:
  explicit Lock(Mutex& mutex) TUTTI_ACQUIRES(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~Lock() TUTTI_RELEASES() { mutex_.unlock(); }
  Lock(const Lock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace tutti
