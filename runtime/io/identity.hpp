// SPDX-License-Identifier: BSD-3-Clause
// Which file an open file is, in numbers that ranks can compare: its name says nothing, for it may
// be relative, or one of several, and mean another file on another machine.
#pragma once

#include <sys/vfs.h>

#include <cstdint>

namespace tutti::io {

// What is known of the numbers of a file system. One that is not named here promises nothing.
enum class System : uint32_t {
  unknown,
  memory,   // this machine's, with one device number wherever it is mounted …
  local,    // … and so is this, on a device
  overlay,  // what lies over other file systems: a file that is only read may have many numbers
  network,  // shared by machines, with the same number of a file on all of them
};

struct Identity {
  uint64_t machine = 0;  // a boot of one; 0: not known
  uint64_t device = 0, number = 0;
  uint32_t magic = 0;  // of the file system
  System system = System::unknown;
};

// How sure it is that they are two files.
enum class Differ : uint8_t {
  no,          // they are one, or nobody knows
  certain,     // two files of one machine
  by_machine,  // each machine has one of its own, or the file system that they share has two
};
// `written`: they are open for writing. What is only read may be a copy on each machine.
Differ differ(const Identity& a, const Identity& b, bool written);

// Of what is no regular file nothing is known.
Identity identity_of(int fd);
System system_of(const struct statfs& about);

}  // namespace tutti::io
