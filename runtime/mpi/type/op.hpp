// SPDX-License-Identifier: BSD-3-Clause
// Reduction operations (the standard, section 6.9): the predefined ones on every type that the
// standard allows and on few more, and the user's.
#pragma once

#include "coll/call.hpp"
#include "mpi/object/objects.hpp"
#include "mpi/type/datatype.hpp"

namespace tutti::mpi {

// Immutable once made.
class Op final : public NamedObject {
 public:
  Op() : NamedObject(Tag::op), handle(handle_of(*this)) {}

  bool commutative = true;
  bool predefined = false;
  MPI_Op handle = MPI_OP_NULL;
  MPI_User_function* function = nullptr;  // one of both, for a user's operation
  MPI_User_function_c* function_large = nullptr;
};

// `op` bound to `type`, ready for a collective of `count` elements; MPI_ERR_OP with a sentence if the operation
// means nothing on that type, which is tolerated of none. What the standard does not define and is computed all the
// same, --check=strict notes. The result refers to both: keep them. `tells`: as for tolerated().
Result<Reduction> bind(const Op& op, int64_t count, const Datatype& type, bool tells = true);

}  // namespace tutti::mpi
