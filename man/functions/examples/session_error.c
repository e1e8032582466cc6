/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors of calls on a session, which the program deals with. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN);
  int code = MPI_Group_from_session_pset(session, "app://solvers", &group);
  printf("there is a set for the solvers: %s\n",
         code == MPI_SUCCESS ? "yes" : "no");
  if (code == MPI_SUCCESS) MPI_Group_free(&group);
  MPI_Session_finalize(&session);
}

/* mpirun -n 1 prints, in some order:
   there is a set for the solvers: no */
