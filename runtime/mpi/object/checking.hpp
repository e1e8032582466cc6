// SPDX-License-Identifier: BSD-3-Clause
// What the level of --check asks of the objects, of their memory and of the messages between them.
#pragma once

namespace tutti::mpi {

class Watcher;

// One object for the whole process, for the same reason as Current; written once, before MPI_Init returns.
struct Checking {
  Watcher* watcher = nullptr;       // that of --check=strict (watcher.hpp), nullptr at other levels
  bool keeps_what_is_gone = false;  // with strict: the memory of objects that are gone, for a while (inventory.hpp)
  bool compares_types = false;      // of messages (check/message_types.hpp)
  bool report_only = false;         // findings of that end nothing
};
inline constinit Checking checking;

}  // namespace tutti::mpi
