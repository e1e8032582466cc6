// SPDX-License-Identifier: BSD-3-Clause
// What is asked of an operation before each of many short uses, where bind() (op.hpp) would make what is not needed.
#pragma once

#include "mpi/type/datatype.hpp"
#include "mpi/type/op.hpp"

namespace tutti::mpi {

// A predefined operation that the standard defines on `type`, and that has a kernel: bind() would have nothing to say.
bool is_defined_on(const Op& op, const Datatype& type);

}  // namespace tutti::mpi
