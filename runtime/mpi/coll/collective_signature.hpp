// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a collective call must agree about, as the contract checker's word
// (contract/signature.hpp), from the call's arguments.
#pragma once

#include <optional>

#include "coll/call.hpp"
#include "mpi/comm/comm.hpp"
#include "mpi/type/datatype.hpp"
#include "mpi/type/op.hpp"

namespace tutti::mpi {

// Sets call.signature, and pair_data where what is sent differs from pair to pair. The call's types
// are Datatypes. `op`: of a reduction.
void sign(coll::Call& call, const Op* op, const Comm& comm);

// The block of a call that this rank sends itself, as it sends and as it receives it.
struct OwnBlock {
  int64_t sent = 0, received = 0;  // elements
  const Datatype* sent_type = nullptr;
  const Datatype* received_type = nullptr;
};
// It, if the two do not agree as the standard wants them to; nullopt also where there is none, as with
// MPI_IN_PLACE, or the call has but one side.
std::optional<OwnBlock> mismatched_own_block(const coll::Call& call, const Comm& comm);

}  // namespace tutti::mpi
