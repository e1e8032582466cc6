// SPDX-License-Identifier: BSD-3-Clause
// What the ABI tells of itself, and what a Fortran library tells of its compiler (the standard, chapter 20).
// They may be called at any time, by any thread.
#pragma once

#include "mpi/object/info.hpp"

namespace tutti::mpi {

Error abi_get_info(MPI_Info* info);
Error abi_get_fortran_info(MPI_Info* info);
Error abi_set_fortran_info(Info* info);
Error abi_get_fortran_booleans(int logical_size, void* logical_true, void* logical_false, int* is_set);
Error abi_set_fortran_booleans(int logical_size, void* logical_true, void* logical_false);

}  // namespace tutti::mpi
