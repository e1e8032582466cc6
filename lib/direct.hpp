// SPDX-License-Identifier: BSD-3-Clause
// Functions that need no engine and no error handler, most of them with a result of their own. The
// entry point calls what stands here under its name in lower case, as it does with runtime/mpi/.
#pragma once

#include <mpi.h>

#include <cstdarg>
#include <cstdint>

#include "base/result.hpp"

namespace tutti::lib::direct {

// --- time and addresses (the standard, sections 2.5.6, 5.1.5 and 9.6)
double wtime();
double wtick();
inline MPI_Aint aint_add(MPI_Aint base, MPI_Aint displacement) {
  // On unsigned numbers: absolute addresses may lie in the upper half.
  return static_cast<MPI_Aint>(static_cast<uintptr_t>(base) + static_cast<uintptr_t>(displacement));
}
inline MPI_Aint aint_diff(MPI_Aint a, MPI_Aint b) {
  return static_cast<MPI_Aint>(static_cast<uintptr_t>(a) - static_cast<uintptr_t>(b));
}

inline Error get_address(const void* location, MPI_Aint* address) {
  *address = reinterpret_cast<MPI_Aint>(location);
  return {};
}
inline Error abi_get_version(int* major, int* minor) {
  *major = MPI_ABI_VERSION;
  *minor = MPI_ABI_SUBVERSION;
  return {};
}

// --- which library this is (section 9.1.1): version, commit, and of which standard
Error get_library_version(char* version, int* resultlen);

// --- profiling control (section 15.2.4): what --profile counts, and regions, as tutti.h has them. Nothing, where nobody
// profiles. `more`: behind the level.
int pcontrol(int level, std::va_list more);

// --- handles as integers (section 20.4.5). A predefined handle is its own number; another gets a
// number from 0x1000 on when it is first asked for, and keeps it. A number that was never given
// out becomes nullptr, which is a handle of nothing, not even the null one (section 19.3.4). Any thread.
int number_of(const void* handle);
void* handle_numbered(int number);

// --- the public fields of a status (section 3.2.5)
inline Error status_get_source(const MPI_Status* status, int* source) {
  *source = status->MPI_SOURCE;
  return {};
}
inline Error status_get_tag(const MPI_Status* status, int* tag) {
  *tag = status->MPI_TAG;
  return {};
}
inline Error status_get_error(const MPI_Status* status, int* error) {
  *error = status->MPI_ERROR;
  return {};
}
inline Error status_set_source(MPI_Status* status, int source) {
  status->MPI_SOURCE = source;
  return {};
}
inline Error status_set_tag(MPI_Status* status, int tag) {
  status->MPI_TAG = tag;
  return {};
}
inline Error status_set_error(MPI_Status* status, int error) {
  status->MPI_ERROR = error;
  return {};
}

}  // namespace tutti::lib::direct
