/* SPDX-License-Identifier: BSD-3-Clause */
/* A library has a word of its own to say on errors, and leaves the user's handler as it was. */
#include <mpi.h>
#include <stdio.h>

static void tell(MPI_Comm *comm, int *code, ...) {
  int class, rank;
  MPI_Comm_rank(*comm, &rank);
  MPI_Error_class(*code, &class);
  printf(
      "rank %d: %s\n", rank,
      class == MPI_ERR_ARG ? "the matrix is not square" : "another error");
}

int main(void) {
  MPI_Errhandler own, users;
  MPI_Init(NULL, NULL);
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &users);
  MPI_Comm_create_errhandler(tell, &own);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, own);
  MPI_Comm_call_errhandler(MPI_COMM_WORLD,
                           MPI_ERR_ARG); /* as MPI does on an error */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, users);
  MPI_Errhandler_free(&users), MPI_Errhandler_free(&own);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   rank 0: the matrix is not square
   rank 1: the matrix is not square */
