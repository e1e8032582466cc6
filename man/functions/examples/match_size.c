/* SPDX-License-Identifier: BSD-3-Clause */
/* The datatype of a number whose size alone is known. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

typedef int32_t Index; /* or int64_t, as the program is built */

int main(void) {
  int rank;
  Index index = 0;
  MPI_Datatype type;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Type_match_size(MPI_TYPECLASS_INTEGER, sizeof(Index),
                      &type); /* not to be freed */
  if (rank == 0) index = 1000000;
  MPI_Bcast(&index, 1, type, 0, MPI_COMM_WORLD);
  printf("rank %d: %lld\n", rank, (long long)index);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   rank 0: 1000000
   rank 1: 1000000 */
