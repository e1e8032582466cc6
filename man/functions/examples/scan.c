/* SPDX-License-Identifier: BSD-3-Clause */
/* Where in a common array each rank's part begins, and where it ends. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, begin = 0, end; /* MPI_Exscan leaves begin alone on rank 0 */
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int mine = 10 * (rank + 1);
  MPI_Exscan(&mine, &begin, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Scan(&mine, &end, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("rank %d: %d to %d\n", rank, begin, end - 1);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0: 0 to 9
   rank 1: 10 to 29
   rank 2: 30 to 59 */
