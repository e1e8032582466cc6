// SPDX-License-Identifier: BSD-3-Clause
// Signals that others send belong to the thread that waits for them: the program's own in a rank, the loop's in the
// launcher. A thread inherits its maker's mask, so whatever makes one, a library's start included, does it with these
// blocked. What a thread raises by what it does itself stays open: the kernel ends a process at once where such a signal
// is blocked, and asks no handler, neither the program's nor the one that tells of crashes (base/os/crash_handler.hpp),
// which may be telling of another thread at that moment.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace tutti {

inline constexpr int kRaisedByTheThread[] = {SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS};

class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t of_others;
    ::sigfillset(&of_others);
    for (const int signal : kRaisedByTheThread) ::sigdelset(&of_others, signal);
    ::pthread_sigmask(SIG_SETMASK, &of_others, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace tutti
