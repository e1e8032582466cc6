/* SPDX-License-Identifier: BSD-3-Clause */
/* A library adds errors of its own to those of MPI, and their words come from MPI_Error_string. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int of_solver, diverged, class, length;
  char text[MPI_MAX_ERROR_STRING];
  MPI_Init(NULL, NULL);
  MPI_Add_error_class(&of_solver);
  MPI_Add_error_code(of_solver, &diverged);
  MPI_Add_error_string(diverged, "the solver does not converge");
  /* A function of the library would return `diverged`, and its user does this: */
  MPI_Error_class(diverged, &class);
  MPI_Error_string(diverged, text, &length);
  printf("%s (of the solver: %s)\n", text,
         class == of_solver ? "yes" : "no");
  MPI_Finalize();
}

/* mpirun -n 1 prints, in some order:
   the solver does not converge (of the solver: yes) */
