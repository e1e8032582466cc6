// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a collective call must agree about, as the contract checker's word
// (contract/signature.hpp), from the call's arguments.
#pragma once

#include "coll/call.hpp"
#include "mpi/comm/comm.hpp"
#include "mpi/type/op.hpp"

namespace tutti::mpi {

// Sets call.signature, and pair_data where what is sent differs from pair to pair. The call's types
// are Datatypes. `op`: of a reduction. Nothing is checked between two groups.
void sign(coll::Call& call, const Op* op, const Comm& comm);

}  // namespace tutti::mpi
