// SPDX-License-Identifier: BSD-3-Clause
// One name for each kind of object, and one deed: what an error handler hangs on is a HasErrhandler.
#include "mpi/object/api_errhandler.hpp"

namespace tutti::mpi {

Error comm_create_errhandler(MPI_Comm_errhandler_function* function, MPI_Errhandler* errhandler) {
  return create_errhandler(reinterpret_cast<Errhandler::Function>(function), Errhandler::On::communicator, errhandler);
}
Error comm_set_errhandler(HasErrhandler& comm, Errhandler& errhandler) {
  return set_errhandler(comm, errhandler);
}
Error comm_get_errhandler(HasErrhandler& comm, MPI_Errhandler* errhandler) {
  return get_errhandler(comm, errhandler);
}
Error comm_call_errhandler(HasErrhandler& comm, int errorcode) {
  return call_errhandler_of(comm, errorcode, "MPI_Comm_call_errhandler");
}

Error win_create_errhandler(MPI_Win_errhandler_function* function, MPI_Errhandler* errhandler) {
  return create_errhandler(reinterpret_cast<Errhandler::Function>(function), Errhandler::On::window, errhandler);
}
Error win_set_errhandler(HasErrhandler& win, Errhandler& errhandler) {
  return set_errhandler(win, errhandler);
}
Error win_get_errhandler(HasErrhandler& win, MPI_Errhandler* errhandler) {
  return get_errhandler(win, errhandler);
}
Error win_call_errhandler(HasErrhandler& win, int errorcode) {
  return call_errhandler_of(win, errorcode, "MPI_Win_call_errhandler");
}

Error file_create_errhandler(MPI_File_errhandler_function* function, MPI_Errhandler* errhandler) {
  return create_errhandler(reinterpret_cast<Errhandler::Function>(function), Errhandler::On::file, errhandler);
}
Error file_set_errhandler(HasErrhandler& file, Errhandler& errhandler) {
  return set_errhandler(file, errhandler);
}
Error file_get_errhandler(HasErrhandler& file, MPI_Errhandler* errhandler) {
  return get_errhandler(file, errhandler);
}
Error file_call_errhandler(HasErrhandler& file, int errorcode) {
  return call_errhandler_of(file, errorcode, "MPI_File_call_errhandler");
}

Error session_create_errhandler(MPI_Session_errhandler_function* function, MPI_Errhandler* errhandler) {
  return create_errhandler(reinterpret_cast<Errhandler::Function>(function), Errhandler::On::session, errhandler);
}
Error session_set_errhandler(HasErrhandler& session, Errhandler& errhandler) {
  return set_errhandler(session, errhandler);
}
Error session_get_errhandler(HasErrhandler& session, MPI_Errhandler* errhandler) {
  return get_errhandler(session, errhandler);
}
Error session_call_errhandler(HasErrhandler& session, int errorcode) {
  return call_errhandler_of(session, errorcode, "MPI_Session_call_errhandler");
}

Error errhandler_free(MPI_Errhandler* errhandler) {
  Errhandler& object = *resolve<Errhandler>(*errhandler);
  if (object.does == Errhandler::Does::call_user) object.free_handle();
  *errhandler = MPI_ERRHANDLER_NULL;
  return {};
}

}  // namespace tutti::mpi
