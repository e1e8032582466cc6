// SPDX-License-Identifier: BSD-3-Clause
// Who is told that the buffers of a request are the program's again: a call says that it is complete, or frees it. Only
// of those whose end is told (Request::set_watched()).
#pragma once

namespace tutti::mpi {

// nullptr where nobody hears of buffers (check/buffers.hpp). Written once, before MPI_Init returns.
inline void (*buffers_end)(const void* request) = nullptr;

}  // namespace tutti::mpi
