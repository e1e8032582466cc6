// SPDX-License-Identifier: BSD-3-Clause
// What a status holds beside its public fields: how many bytes arrived, and whether the operation
// was cancelled. The ABI leaves five integers to the library; a program may copy a status.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstring>

namespace tutti::mpi {

inline int64_t status_bytes(const MPI_Status& status) {
  int64_t bytes;
  std::memcpy(&bytes, status.MPI_internal, sizeof bytes);
  return bytes;
}
inline void set_status_bytes(MPI_Status& status, int64_t bytes) {
  std::memcpy(status.MPI_internal, &bytes, sizeof bytes);
}
inline bool status_cancelled(const MPI_Status& status) {
  return status.MPI_internal[2] != 0;
}
inline void set_status_cancelled(MPI_Status& status, bool cancelled) {
  status.MPI_internal[2] = cancelled;
}

}  // namespace tutti::mpi
