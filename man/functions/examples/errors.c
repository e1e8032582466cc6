/* SPDX-License-Identifier: BSD-3-Clause */
/* An error that the program deals with by itself. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, value = 0, class;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int code = MPI_Send(&value, 1, MPI_INT, 1000, 0, MPI_COMM_WORLD);
  if (code != MPI_SUCCESS) {
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    if (rank == 0)
      printf("a rank is wrong: %s, and there is a sentence: %s\n",
             class == MPI_ERR_RANK ? "yes" : "no",
             length > 0 ? "yes" : "no");
  }
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   a rank is wrong: yes, and there is a sentence: yes */
