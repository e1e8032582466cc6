// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a file tell each other in a collective call.
#pragma once

#include <vector>

#include "contract/signature.hpp"
#include "mpi/coll/collective_start.hpp"
#include "mpi/file/file.hpp"

namespace tutti::mpi::file {

template <class T>
Error exchange(Comm& comm, Function function, const T& mine, std::vector<T>& each) {
  each.resize(static_cast<size_t>(comm.size()));
  coll::Call call = allgather_bytes(&mine, each.data(), sizeof mine);
  call.signature = contract::word_of(function);
  return run(comm, call);
}

// What the first rank that has failed tells the others. There is room for a long file name in the sentence.
struct ToldFailure {
  int32_t error_class;
  char text[2044];
  void set(const Error& error) {
    error_class = error.mpi_class();
    error.message().copy(text, sizeof text - 1);
  }
  Error from(int rank) const { return failure(error_class, "rank {}: {}", rank, text); }
};

// The same as agree(), where everybody knows already which rank is the first that has failed.
Error tell_failure(Comm& comm, Function function, int first, Error mine);

}  // namespace tutti::mpi::file
