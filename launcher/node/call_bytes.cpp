// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/node/call_bytes.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "mpi.h"

namespace tutti::launcher {
namespace {

// Of the datatypes that programs use most; -1: of none of these.
int64_t size_of(uint64_t type) {
  static const std::pair<MPI_Datatype, size_t> kSizes[] = {
      {MPI_BYTE, 1},
      {MPI_PACKED, 1},
      {MPI_CHAR, 1},
      {MPI_SIGNED_CHAR, 1},
      {MPI_UNSIGNED_CHAR, 1},
      {MPI_C_BOOL, sizeof(bool)},
      {MPI_SHORT, sizeof(short)},
      {MPI_UNSIGNED_SHORT, sizeof(short)},
      {MPI_INT, sizeof(int)},
      {MPI_UNSIGNED, sizeof(int)},
      {MPI_LONG, sizeof(long)},
      {MPI_UNSIGNED_LONG, sizeof(long)},
      {MPI_LONG_LONG, sizeof(long long)},
      {MPI_UNSIGNED_LONG_LONG, sizeof(long long)},
      {MPI_FLOAT, sizeof(float)},
      {MPI_DOUBLE, sizeof(double)},
      {MPI_LONG_DOUBLE, sizeof(long double)},
      {MPI_WCHAR, sizeof(wchar_t)},
      {MPI_AINT, sizeof(MPI_Aint)},
      {MPI_OFFSET, sizeof(MPI_Offset)},
      {MPI_COUNT, sizeof(MPI_Count)},
      {MPI_INT8_T, 1},
      {MPI_UINT8_T, 1},
      {MPI_INT16_T, 2},
      {MPI_UINT16_T, 2},
      {MPI_INT32_T, 4},
      {MPI_UINT32_T, 4},
      {MPI_INT64_T, 8},
      {MPI_UINT64_T, 8},
      {MPI_C_FLOAT_COMPLEX, 2 * sizeof(float)},
      {MPI_C_DOUBLE_COMPLEX, 2 * sizeof(double)},
      {MPI_FLOAT_INT, sizeof(float) + sizeof(int)},
      {MPI_DOUBLE_INT, sizeof(double) + sizeof(int)},
      {MPI_LONG_INT, sizeof(long) + sizeof(int)},
      {MPI_2INT, 2 * sizeof(int)},
      {MPI_CHARACTER, 1},
      {MPI_INTEGER, 4},
      {MPI_LOGICAL, 4},
      {MPI_REAL, 4},
      {MPI_DOUBLE_PRECISION, 8},
      {MPI_COMPLEX, 8},
      {MPI_DOUBLE_COMPLEX, 16},
      {MPI_INTEGER8, 8},
      {MPI_REAL8, 8},
  };
  for (const auto& [handle, size] : kSizes)
    if (reinterpret_cast<uintptr_t>(handle) == type) return static_cast<int64_t>(size);
  return -1;
}

// -1: not known. Of both buffers of a call the one that is given.
int64_t bytes_of(const flight::CallRecord& call) {
  if ((call.marks & flight::kData) == 0 || call.count <= 0) return 0;
  const int64_t size = size_of(call.type);
  int64_t bytes = 0;
  return size < 0 || __builtin_mul_overflow(size, call.count, &bytes) ? -1 : bytes;
}

}  // namespace

int64_t bytes_a_call(std::span<const flight::CallRecord> calls) {
  int64_t sum = 0;
  for (const flight::CallRecord& call : calls) {
    const int64_t bytes = bytes_of(call);
    if (bytes < 0 || __builtin_add_overflow(sum, bytes, &sum)) return -1;
  }
  return calls.empty() ? -1 : sum / static_cast<int64_t>(calls.size());
}

}  // namespace tutti::launcher
