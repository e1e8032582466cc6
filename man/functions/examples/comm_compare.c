/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether two communicators have the same ranks: a library may keep what it has computed for the one. */
#include <mpi.h>
#include <stdio.h>

static const char *compared(MPI_Comm a, MPI_Comm b) {
  int result;
  MPI_Comm_compare(a, b, &result);
  return result == MPI_IDENT       ? "the same communicator"
         : result == MPI_CONGRUENT ? "the same ranks"
         : result == MPI_SIMILAR   ? "the same ranks in another order"
                                   : "other ranks";
}

int main(void) {
  int rank;
  MPI_Comm copy, backwards;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &backwards);
  if (rank == 0)
    printf("%s\n%s\n%s\n", compared(MPI_COMM_WORLD, MPI_COMM_WORLD),
           compared(MPI_COMM_WORLD, copy),
           compared(MPI_COMM_WORLD, backwards));
  MPI_Comm_free(&backwards);
  MPI_Comm_free(&copy);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   the same communicator
   the same ranks
   the same ranks in another order */
