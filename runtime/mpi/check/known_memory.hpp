// SPDX-License-Identifier: BSD-3-Clause
// What AddressSanitizer knows of a program's memory: a buffer that is shorter than its
// count says, or freed, is told by the call that is given it. By itself the sanitizer sees only what the C
// library copies, and not what collectives read and write. Says nothing of programs without it.
#pragma once

#include "base/layout.hpp"
#include "base/result.hpp"

namespace tutti::mpi {

// The program has been compiled for a sanitizer that sees which memory it touches, and when.
bool sanitizer_looks_on();
// AddressSanitizer can be asked what is the program's memory.
bool knows_memory();
// The library is compiled for it, too, as in the tests' own tree.
bool is_instrumented_itself();

// An error if a byte of the buffer, which is called `side` ("send", "receive"), is no memory of the program's.
// Of a layout with gaps the first 4096 runs are looked at.
Error outside_of_memory(const Payload& payload, const char* side);

}  // namespace tutti::mpi
