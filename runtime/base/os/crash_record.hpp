// SPDX-License-Identifier: BSD-3-Clause
// What a rank writes of its own crash (base/os/crash_handler.hpp) for the launcher to tell
// (launcher/node/crashes.hpp): a file crash.RANK in the job's folder, whose addresses are those of files,
// since nothing else of the process is left when it is read. Written by a process that may have
// lost its senses: a reader trusts no field.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/flight.hpp"

namespace tutti::crash {

inline constexpr char kMagic[8] = {'t', 'u', 't', 't', 'i', 'c', 'r', '1'};
inline constexpr const char* kFilePrefix = "crash.";  // of the file's name, before the rank
inline constexpr int kFrames = 48, kPaths = 8192;

// An instruction, by the file that it was loaded from.
struct Place {
  uint64_t offset = 0;  // in the file
  int32_t path = -1;    // where its name begins in Record::paths; -1: no file
  int32_t reserved = 0;
};

struct Record {
  char magic[8];
  uint32_t bytes;  // of this struct, which changes with its version
  int32_t pid, thread;
  int32_t signal, code, sender;  // as siginfo_t has them; sender: a process, where one has sent it
  uint64_t address;              // that siginfo_t names
  uint64_t pc, stack;            // the program counter and the stack pointer of the fault
  int64_t when;                  // nanoseconds of CLOCK_MONOTONIC
  int32_t frames;                // of `frame`, the innermost first
  int32_t of_another_thread;     // the call is not one of the thread that has crashed
  flight::CallRecord call;       // number 0: none is known
  flight::CommRecord comm;       // that it is on; context 0: not known
  uint64_t looks;                // as flight::Thread has them
  uint64_t looks_function;
  int32_t is_whole;  // 0: of its frames there is the innermost alone, as the process has yet to look at its stack
  int32_t unused;
  Place caller;  // of the call, or of the one that looks
  Place frame[kFrames];
  char paths[kPaths];  // each ends with a zero
};
static_assert(std::is_trivially_copyable_v<Record>);

}  // namespace tutti::crash
