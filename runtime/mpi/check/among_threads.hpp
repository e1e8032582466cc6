// SPDX-License-Identifier: BSD-3-Clause
// A lock where several threads call MPI, and nothing otherwise: ThreadSanitizer, which looks at each lock in a program that
// it instruments, takes as long for one as for all else that it is told of an operation.
#pragma once

#include "base/mutex.hpp"
#include "mpi/object/current.hpp"

namespace tutti::mpi {

class TUTTI_SCOPED_CAPABILITY LockAmongThreads {
 public:
  explicit LockAmongThreads(Mutex& mutex) TUTTI_ACQUIRES(mutex) TUTTI_NOT_PROVEN
      : mutex_(current.concurrent_calls ? &mutex : nullptr) {
    if (mutex_) mutex_->lock();
  }
  ~LockAmongThreads() TUTTI_RELEASES() TUTTI_NOT_PROVEN {
    if (mutex_) mutex_->unlock();
  }
  LockAmongThreads(const LockAmongThreads&) = delete;

 private:
  Mutex* const mutex_;
};

}  // namespace tutti::mpi
