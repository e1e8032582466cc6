// SPDX-License-Identifier: BSD-3-Clause
// Signals belong to the thread that waits for them: the program's own in a rank, the loop's in the
// launcher. A thread inherits its maker's mask, so whatever makes one, a library's start included,
// does it with all signals blocked.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace tutti {

class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace tutti
