// SPDX-License-Identifier: BSD-3-Clause
// The attributes of communicators (the standard, section 7.7), and the old names of these functions (16.1).
#pragma once

#include "mpi/comm/comm.hpp"

namespace tutti::mpi {

Error comm_set_attr(Comm& comm, int keyval, void* value);
Error comm_get_attr(Comm& comm, int keyval, void* value, int* flag);
Error comm_delete_attr(Comm& comm, int keyval);

Error attr_put(Comm& comm, int keyval, void* value);
Error attr_get(Comm& comm, int keyval, void* value, int* flag);
Error attr_delete(Comm& comm, int keyval);

}  // namespace tutti::mpi
