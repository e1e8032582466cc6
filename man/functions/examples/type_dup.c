/* SPDX-License-Identifier: BSD-3-Clause */
/* A library keeps the datatype that it was given: the user may free his own. */
#include <mpi.h>
#include <stdio.h>

static MPI_Datatype kept;

static void set_element(MPI_Datatype given) {
  MPI_Type_dup(given, &kept);
} /* committed as the given one */

int main(void) {
  int rank, size, at[2];
  MPI_Datatype pair;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  set_element(pair);
  MPI_Type_free(&pair);
  at[0] = at[1] = rank + 1;
  MPI_Bcast(at, 1, kept, size - 1, MPI_COMM_WORLD);
  printf("rank %d: (%d, %d)\n", rank, at[0], at[1]);
  MPI_Type_free(&kept);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   rank 0: (2, 2)
   rank 1: (2, 2) */
