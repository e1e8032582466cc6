// SPDX-License-Identifier: BSD-3-Clause
// MPI_*_errhandler, MPI_Error_*, MPI_Add_error_* (the standard, sections 9.3 to 9.5).
#pragma once

#include "mpi/object/error.hpp"

namespace tutti::mpi {

Error comm_create_errhandler(MPI_Comm_errhandler_function* function, MPI_Errhandler* errhandler);
Error comm_set_errhandler(HasErrhandler& comm, Errhandler& errhandler);
Error comm_get_errhandler(HasErrhandler& comm, MPI_Errhandler* errhandler);
Error comm_call_errhandler(HasErrhandler& comm, int errorcode);
Error win_create_errhandler(MPI_Win_errhandler_function* function, MPI_Errhandler* errhandler);
Error win_set_errhandler(HasErrhandler& win, Errhandler& errhandler);
Error win_get_errhandler(HasErrhandler& win, MPI_Errhandler* errhandler);
Error win_call_errhandler(HasErrhandler& win, int errorcode);
Error errhandler_free(MPI_Errhandler* errhandler);

Error error_class(int errorcode, int* errorclass);
Error error_string(int errorcode, char* string, int* resultlen);
Error add_error_class(int* errorclass);
Error add_error_code(int errorclass, int* errorcode);
Error add_error_string(int errorcode, const char* string);
Error remove_error_class(int errorclass);
Error remove_error_code(int errorcode);
Error remove_error_string(int errorcode);

}  // namespace tutti::mpi
