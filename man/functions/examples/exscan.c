/* SPDX-License-Identifier: BSD-3-Clause */
/* Where in a common array the numbers of each rank begin: behind those of all ranks before it. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, n, begin = 0; /* on rank 0 MPI_Exscan leaves it alone */
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  n = 5 + rank;
  MPI_Exscan(&n, &begin, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("rank %d has %d to %d\n", rank, begin, begin + n - 1);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0 has 0 to 4
   rank 1 has 5 to 10
   rank 2 has 11 to 17 */
