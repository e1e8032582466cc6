/* SPDX-License-Identifier: BSD-3-Clause */
/* How long a piece of work takes: on all ranks it is as slow as on the slowest. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank;
  double begin, took, longest;
  volatile double sum = 0;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD); /* all begin together */
  begin = MPI_Wtime();
  for (int i = 0; i < 100000 * (rank + 1); i++) sum += i;
  took = MPI_Wtime() - begin; /* seconds */
  MPI_Reduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("it took some time: %s\n",
           longest >= took && took > 0 ? "yes" : "no");
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   it took some time: yes */
