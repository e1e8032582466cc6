// SPDX-License-Identifier: BSD-3-Clause
// Memory that an operation under way writes, in a program under AddressSanitizer: closed to the program until a call
// says that the operation is complete, so that the sanitizer tells of a load or store too early. Bytes in gaps of a
// datatype stay open, and so does a byte with a neighbour behind it that shares its eight bytes and is open: the
// sanitizer cannot say so of it. What is freed meanwhile stays as the allocator has left it, and is told.
//
// This library and those below it write there meanwhile, by functions of libc that the sanitizer looks into. So memory
// is closed only where the program has been told to look away (lib/sanitizers/asan.supp), as programs of mpicc are.
// Any thread.
#pragma once

#include <cstdint>
#include <span>

#include "mpi/check/outstanding.hpp"

namespace tutti::mpi::closed_memory {

// Nothing else may be called where not.
bool is_possible();

// What the uses of `owner` write; of a layout with gaps the first 4096 runs. Another time: these, too.
void close(const void* owner, std::span<const BufferUse> uses);
void open(const void* owner);
// Is it closed by one of these operations?
bool is_closed(uintptr_t address);

}  // namespace tutti::mpi::closed_memory
