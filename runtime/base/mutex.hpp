// SPDX-License-Identifier: BSD-3-Clause
// A std::mutex, and a lock of it for a scope, of which clang can prove that who touches what it guards holds it
// (base/thread_safety.hpp): those of the standard library do not say so. They are as quick, a condition included.
#pragma once

#include <condition_variable>
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
  friend class ConditionVariable;
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

// The opposite, in the midst of such a scope. (To clang, the end of either takes back what its beginning did.)
class TUTTI_SCOPED_CAPABILITY Unlocked {
 public:
  explicit Unlocked(Mutex& mutex) TUTTI_RELEASES(mutex) : mutex_(mutex) { mutex_.unlock(); }
  ~Unlocked() TUTTI_RELEASES() { mutex_.lock(); }
  Unlocked(const Unlocked&) = delete;

 private:
  Mutex& mutex_;
};

// What a thread waits for that holds a mutex, which is free meanwhile. It may wake without a reason: what it waits for is
// asked in a loop around, which clang follows; it does not follow a function that is handed over.
class ConditionVariable {
 public:
  void wait(Mutex& mutex) TUTTI_REQUIRES(mutex) {
    std::unique_lock held(mutex.mutex_, std::adopt_lock);
    changed_.wait(held);
    held.release();
  }
  // False: it is that late.
  template <class Time>
  bool wait_until(Mutex& mutex, Time late) TUTTI_REQUIRES(mutex) {
    std::unique_lock held(mutex.mutex_, std::adopt_lock);
    const bool told = changed_.wait_until(held, late) == std::cv_status::no_timeout;
    held.release();
    return told;
  }
  void notify_one() { changed_.notify_one(); }
  void notify_all() { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

}  // namespace tutti
