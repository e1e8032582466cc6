/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks take several tickets of each of two kinds from counters on rank 0: they get the first of theirs. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, *counters, first[2], wanted[2] = {3, 1}, sum, all;
  MPI_Win win;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate(rank == 0 ? 2 * sizeof(int) : 0, sizeof(int),
                   MPI_INFO_NULL, MPI_COMM_WORLD, &counters, &win);
  if (rank == 0) counters[0] = counters[1] = 0;
  MPI_Win_fence(0, win);
  MPI_Get_accumulate(wanted, 2, MPI_INT, first, 2, MPI_INT, 0, 0, 2,
                     MPI_INT, MPI_SUM, win);
  MPI_Win_fence(0, win);
  sum = first[0] + first[1]; /* who comes first is a matter of time */
  MPI_Reduce(&sum, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%d and %d tickets are gone, the first ones add up to %d\n",
           counters[0], counters[1], all);
  MPI_Win_free(&win);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   9 and 3 tickets are gone, the first ones add up to 12 */
