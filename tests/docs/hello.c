/* SPDX-License-Identifier: BSD-3-Clause */
/* For pages that run a program and do not show it. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) printf("%d ranks\n", size);
  MPI_Finalize();
}
