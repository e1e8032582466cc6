// SPDX-License-Identifier: BSD-3-Clause
// What MemorySanitizer in the program, or valgrind's memcheck around it, knows of values: what an operation has brought
// has one, though the sanitizer has not seen it come; and what is sent without one the sanitizer itself tells, as it
// does of a branch. To memcheck a receive buffer has no value from the start of the operation until its data is there.
// Any thread.
#pragma once

#include <cstdint>
#include <span>

#include "mpi/check/outstanding.hpp"

namespace tutti::mpi::initialised_memory {

// One of them looks on. Nothing else may be called where not.
bool is_seen();

// What is sent: of numbers each must have a value in some byte, of bytes and characters one of all: programs send the
// padding of structures, and strings that are shorter than their arrays. Of a layout with gaps its first 4096 runs are
// looked at, each as one number.
void ask_for_values(std::span<const BufferUse> uses);

// The operation `owner` writes what these say is written, until it ends. Another time: these, too. It is about to start,
// unless it may have done so already.
enum class Started : bool { no, perhaps };
void begin(const void* owner, std::span<const BufferUse> uses, Started started);
void end(const void* owner);

}  // namespace tutti::mpi::initialised_memory
