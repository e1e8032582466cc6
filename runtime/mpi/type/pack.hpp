// SPDX-License-Identifier: BSD-3-Clause
// What MPI_Pack and MPI_Pack_external check alike.
#pragma once

#include "mpi/type/datatype.hpp"

namespace tutti::mpi {

// Whether the packed bytes of `count` elements, `bytes_each` each, lie in a buffer of `size` bytes
// from `position` on; `bytes` is how many they are. `what` is the buffer's name in the call.
Error check_room(const char* what, const void* packed, int64_t size, int64_t position, int64_t count,
                 const Datatype& datatype, int64_t bytes_each, int64_t& bytes);

}  // namespace tutti::mpi
