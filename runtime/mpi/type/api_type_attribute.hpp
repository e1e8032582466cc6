// SPDX-License-Identifier: BSD-3-Clause
// The attributes of datatypes (the standard, section 7.7).
#pragma once

#include "mpi/type/datatype.hpp"

namespace tutti::mpi {

Error type_set_attr(Datatype& datatype, int keyval, void* value);
Error type_get_attr(const Datatype& datatype, int keyval, void* value, int* flag);
Error type_delete_attr(Datatype& datatype, int keyval);

}  // namespace tutti::mpi
