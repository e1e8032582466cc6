// SPDX-License-Identifier: BSD-3-Clause
// MPI 4.1: error classes, codes and strings of the user are removed again; MPI_ERRORS_ABORT exists.
#include "check.hpp"

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  int kind = -1, code = -1;
  OK(MPI_Add_error_class(&kind));
  OK(MPI_Add_error_code(kind, &code));
  OK(MPI_Add_error_string(code, "gone soon"));
  CHECK(check::error_text(code) == "gone soon");
  CHECK(MPI_Remove_error_class(kind) != MPI_SUCCESS);  // it still has a code
  CHECK(MPI_Remove_error_code(code) != MPI_SUCCESS);   // it still has a string
  OK(MPI_Remove_error_string(code));
  CHECK(check::error_text(code).empty());
  FAILS(MPI_Remove_error_string(code), MPI_ERR_ARG);
  OK(MPI_Add_error_string(code, ""));  // an empty string is a string
  CHECK(MPI_Remove_error_code(code) != MPI_SUCCESS);
  OK(MPI_Remove_error_string(code));
  int of_a_code = -1;
  FAILS(MPI_Add_error_code(code, &of_a_code), MPI_ERR_ARG);  // a code is no class
  OK(MPI_Remove_error_code(code));
  OK(MPI_Remove_error_class(kind));
  FAILS(MPI_Remove_error_string(MPI_ERR_ARG), MPI_ERR_ARG);
  MPI_Comm comm;
  MPI_Errhandler got;
  OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_ABORT));
  OK(MPI_Comm_get_errhandler(comm, &got));
  CHECK(got == MPI_ERRORS_ABORT);
  OK(MPI_Comm_free(&comm));
}
