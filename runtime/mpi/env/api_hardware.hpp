// SPDX-License-Identifier: BSD-3-Clause
// What the hardware of this process is (the standard, section 9.1.2).
#pragma once

#include "mpi/object/info.hpp"

namespace tutti::mpi::env {

// By type of a resource, whether this process may run on a single one of them alone.
Error get_hw_resource_info(MPI_Info* hw_info);

}  // namespace tutti::mpi::env
