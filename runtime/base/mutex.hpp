// SPDX-License-Identifier: BSD-3-Clause
// The mutexes of the standard library, and a lock of them for a scope, of which clang can prove that who touches what
// they guard holds them (base/thread_safety.hpp): the library's own do not say so. They are as quick, a condition
// included. Nobody uses those directly (tests/unit/layers.py).
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

// One that who holds it may take again, because it calls what takes it without knowing so. clang sees that only within
// one function, and calls it wrong there.
class TUTTI_CAPABILITY("mutex") RecursiveMutex {
 public:
  RecursiveMutex() = default;
  RecursiveMutex(const RecursiveMutex&) = delete;

  void lock() TUTTI_ACQUIRES() TUTTI_NOT_PROVEN { mutex_.lock(); }
  void unlock() TUTTI_RELEASES() TUTTI_NOT_PROVEN { mutex_.unlock(); }
  bool try_lock() TUTTI_TRY_ACQUIRES(true) TUTTI_NOT_PROVEN { return mutex_.try_lock(); }

 private:
  std::recursive_mutex mutex_;
};

// One for which a thread waits no longer than it likes.
class TUTTI_CAPABILITY("mutex") TimedMutex {
 public:
  TimedMutex() = default;
  TimedMutex(const TimedMutex&) = delete;

  void lock() TUTTI_ACQUIRES() TUTTI_NOT_PROVEN { mutex_.lock(); }
  void unlock() TUTTI_RELEASES() TUTTI_NOT_PROVEN { mutex_.unlock(); }
  template <class Time>
  bool try_lock_until(Time late) TUTTI_TRY_ACQUIRES(true) TUTTI_NOT_PROVEN {
    return mutex_.try_lock_until(late);
  }

 private:
  std::timed_mutex mutex_;
};

template <class Kind>
class TUTTI_SCOPED_CAPABILITY Lock {
 public:
  explicit Lock(Kind& mutex) TUTTI_ACQUIRES(mutex) : mutex_(mutex) { mutex_.lock(); }
  // Of one that is held already.
  Lock(Kind& mutex, std::adopt_lock_t) TUTTI_REQUIRES(mutex) : mutex_(mutex) {}
  ~Lock() TUTTI_RELEASES() { mutex_.unlock(); }
  Lock(const Lock&) = delete;

 private:
  Kind& mutex_;
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
