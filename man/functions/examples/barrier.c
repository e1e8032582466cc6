/* SPDX-License-Identifier: BSD-3-Clause */
/* All ranks have come before any goes on. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank;
  double before, after, last_before, first_after;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  before = MPI_Wtime();
  MPI_Barrier(MPI_COMM_WORLD);
  after = MPI_Wtime();
  MPI_Reduce(&before, &last_before, 1, MPI_DOUBLE, MPI_MAX, 0,
             MPI_COMM_WORLD);
  MPI_Reduce(&after, &first_after, 1, MPI_DOUBLE, MPI_MIN, 0,
             MPI_COMM_WORLD);
  /* On one node the clocks of all ranks are the same one. */
  if (rank == 0)
    printf("nobody left early: %s\n",
           first_after >= last_before ? "yes" : "no");
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   nobody left early: yes */
