// SPDX-License-Identifier: BSD-3-Clause
// Where in a program's source an address lies. The debug information is read by a program of its
// own (libexec/tutti/tutti-where), so that ranks neither link nor load what that takes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tutti {

// An address of some process, as others can understand it.
struct CodeAddress {
  std::string module;   // the file of the program or library; empty: unknown
  uint64_t offset = 0;  // in the file's own addresses
};

// Of this process: the place that a call returns to names the call itself.
CodeAddress code_address(uint64_t return_address);
// Of another process of this node that may be stopped: from /proc/PID/maps. Also of a position-
// dependent program.
CodeAddress code_address_in(int pid, uint64_t return_address);

// "solver.c:42, in exchange()"; "exchange()+0x1c in solver" without debug information, and
// "solver+0x11c" without symbols. "an unknown place" for no address. One process is started for
// all of them, and given two seconds.
std::vector<std::string> source_places(std::span<const CodeAddress> addresses);

// That program's file.
std::string where_program();

}  // namespace tutti
