// SPDX-License-Identifier: BSD-3-Clause
// Kinds of memory that a program may hand to MPI (the standard, section 11.4.3): what it asks for,
// and which of these there are. Memory of devices is no kind of Tutti's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mpi/object/info.hpp"

namespace tutti::mpi {

// Of "system,mpi:alloc_mem,cuda" what Tutti supports, and always "system" and "mpi":
// "system,mpi:alloc_mem".
std::string supported_memory_kinds(std::string_view asked);
// The same for what `info` has under mpi_memory_alloc_kinds, or else mpirun was given; it may be nullptr.
std::string memory_kinds_given(const Info* info);
// All kinds in `asserted` are among those of supported_memory_kinds().
bool are_memory_kinds(std::string_view asserted);

}  // namespace tutti::mpi
