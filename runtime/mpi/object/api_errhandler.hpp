// SPDX-License-Identifier: BSD-3-Clause
// MPI_*_errhandler of all kinds of objects (the standard, section 9.3).
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

Error file_create_errhandler(MPI_File_errhandler_function* function, MPI_Errhandler* errhandler);
Error file_set_errhandler(HasErrhandler& file, Errhandler& errhandler);
Error file_get_errhandler(HasErrhandler& file, MPI_Errhandler* errhandler);
Error file_call_errhandler(HasErrhandler& file, int errorcode);

Error session_create_errhandler(MPI_Session_errhandler_function* function, MPI_Errhandler* errhandler);
Error session_set_errhandler(HasErrhandler& session, Errhandler& errhandler);
Error session_get_errhandler(HasErrhandler& session, MPI_Errhandler* errhandler);
Error session_call_errhandler(HasErrhandler& session, int errorcode);

Error errhandler_free(MPI_Errhandler* errhandler);

}  // namespace tutti::mpi
