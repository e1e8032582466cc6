// SPDX-License-Identifier: BSD-3-Clause
// What the entry points MPI_Op_* and MPI_Reduce_local call (the standard, 6.9.5 to 6.9.7).
#pragma once

#include "mpi/type/op.hpp"

namespace tutti::mpi {

Error op_create(MPI_User_function* user_fn, int commute, MPI_Op* op);
Error op_create(MPI_User_function_c* user_fn, int commute, MPI_Op* op);
Error op_free(MPI_Op* op);
Error op_commutative(const Op& op, int* commute);
Error reduce_local(const void* inbuf, void* inoutbuf, int64_t count, const Datatype& datatype, const Op& op);

}  // namespace tutti::mpi
