/* SPDX-License-Identifier: BSD-3-Clause */
/* Who is there. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("rank %d of %d\n", rank, size);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0 of 3
   rank 1 of 3
   rank 2 of 3 */
