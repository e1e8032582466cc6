/* SPDX-License-Identifier: BSD-3-Clause */
/* What the examples of mpirun(1) compile and run. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) printf("ranks: %d, argument: %s\n", size, argc > 1 ? argv[1] : "none");
  MPI_Finalize();
}
