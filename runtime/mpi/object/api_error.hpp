// SPDX-License-Identifier: BSD-3-Clause
// MPI_Error_*, MPI_Add_error_* and MPI_Remove_error_* (the standard, sections 9.4 and 9.5).
#pragma once

#include "mpi/object/error.hpp"

namespace tutti::mpi {

Error error_class(int errorcode, int* errorclass);
Error error_string(int errorcode, char* string, int* resultlen);
Error add_error_class(int* errorclass);
Error add_error_code(int errorclass, int* errorcode);
Error add_error_string(int errorcode, const char* string);
Error remove_error_class(int errorclass);
Error remove_error_code(int errorcode);
Error remove_error_string(int errorcode);

}  // namespace tutti::mpi
