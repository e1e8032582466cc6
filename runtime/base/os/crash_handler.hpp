// SPDX-License-Identifier: BSD-3-Clause
// What a rank does when a fault of its own is about to end it (SIGSEGV, SIGBUS, SIGFPE, SIGILL,
// SIGABRT): it notes where, and in or behind which call of MPI, for the launcher, which finds lines of
// the source and tells once for the job; where no launcher of ours has made the job's folder, it
// prints what it can tell itself. Then the signal ends the process as if nobody had handled it: with
// the same exit code, and a core file that shows the fault and not the handler.
//
// Refuses what belongs to others: a signal that anybody has a handler for, or ignores, and forked
// children. A program's own handler that is set later replaces this one.
#pragma once

namespace tutti::crash {

// While the process has one thread, or loads the library: that thread gets a stack for the handler if
// it has none, so that it can tell of a stack that is full. Once more in a child of fork() that begins
// MPI itself, which is the rank then.
void watch();

}  // namespace tutti::crash
