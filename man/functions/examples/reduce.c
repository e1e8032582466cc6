/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rank adds up a part of a series; rank 0 gets the sum of the parts. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, size;
  double mine = 0, pi;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = rank; i < 1000000; i += size)
    mine += (i % 2 ? -4.0 : 4.0) / (2 * i + 1);
  MPI_Reduce(&mine, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%.4f\n", pi);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   3.1416 */
