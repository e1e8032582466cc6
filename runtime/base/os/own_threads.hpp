// SPDX-License-Identifier: BSD-3-Clause
// Which threads of this process are the library's own: they never make a call of the program's. Its own threads say so
// themselves while they run (OwnThread). Those of other libraries, such as UCX's and PMIx's, are started by calls into
// these, at moments that they choose, so that they get a mark that a thread inherits from the one that starts it
// (StartsOwnThreads): a mask of blocked signals that no thread has otherwise. It blocks all but those that a thread
// raises by what it does itself, which concern its program's handlers in any thread, and SIGSTKFLT, which nothing has
// raised since Linux 2.0: whoever blocks all signals, or all but the former, blocks that one, too. What other
// threads of the program start meanwhile has no mark, and a thread that ends takes its mark along: there is no list of
// ids, which the kernel gives again. A name would not do, as UCX gives its thread another one. Where the kernel does not
// tell masks no such thread is known, and it counts as the program's. ThreadSanitizer's own thread is none of the program's,
// either.
#pragma once

#include <signal.h>

#include <optional>
#include <vector>

namespace tutti {

// While it lives, the thread that has made it is the library's own. It calls no code of the program.
class OwnThread {
 public:
  OwnThread();
  ~OwnThread();
  OwnThread(const OwnThread&) = delete;
};

// Threads that the calling one starts in this scope, by way of other libraries, are the library's own. All signals that
// others send are blocked meanwhile, and stay so in them: they are the program's.
class StartsOwnThreads {
 public:
  StartsOwnThreads();
  ~StartsOwnThreads();
  StartsOwnThreads(const StartsOwnThreads&) = delete;

 private:
  sigset_t before_;
};

// Of these threads of the process (the kernel's ids) those that are not the library's own; std::nullopt: there is no
// telling, since one that is the program's has had the mark meanwhile, in a StartsOwnThreads.
std::optional<std::vector<int>> without_own_threads(const std::vector<int>& threads);

}  // namespace tutti
