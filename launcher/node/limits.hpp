// SPDX-License-Identifier: BSD-3-Clause
// What this node lets us have: descriptors, processes, memory. The launcher and the daemon raise
// their own limit of open files; a rank gets back what its user had. Whether the ranks of a node
// fit is asked before the first of them starts, for afterwards each lack shows in another place.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace tutti::launcher {

// Once, when the process starts: whoever has started us may have blocked signals, such as that of an ended child, which
// the loop lives by; or have ignored that one, and then nobody learns how a child has ended. And a file over its limit is
// to be an error of whoever writes, not the end of the process.
void hear_signals();
// Once, when the process starts: our limit of open files becomes the highest that we may set.
void raise_file_limit();
// The limit as it was before.
const rlimit& users_file_limit();

// Whether there is enough for the launcher or the daemon itself, whose libraries would tell of a
// lack in words of their own.
Error room_for_ourselves();
// Memory that the language cannot give ends this process with a sentence; its watchdog does the
// rest.
void end_where_memory_does();

// Closes all descriptors from this one on. Nothing but system calls: a child of a process with
// threads may call it.
void close_from(int first);

// A bound on how many there may be of something, and how many there are.
struct Bound {
  std::string name;  // and how it is changed
  uint64_t most = 0, used = 0;
};
struct Room {
  std::vector<Bound> processes;  // every one that holds
  Bound files;                   // of this process
  uint64_t memory = 0;           // bytes that are available; 0: nobody says
};
Room room_on_this_node();
// Why this many ranks do not fit on a node, or nothing. What a rank needs at least is counted.
Error shortage(int ranks, const std::string& node, const Room& room);

// A sentence's end for a process that the kernel refuses with this number; empty for other numbers.
std::string advice_on(int error_number);

}  // namespace tutti::launcher
