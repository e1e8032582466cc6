/* SPDX-License-Identifier: BSD-3-Clause */
/* A function that has a window alone: where its memory is, how much, and what a displacement counts. */
#include <mpi.h>
#include <stdio.h>

static int number_of_elements(MPI_Win win) {
  int there, *unit;
  MPI_Aint *bytes; /* attributes are the addresses of values */
  MPI_Win_get_attr(win, MPI_WIN_SIZE, &bytes, &there);
  MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, &there);
  return (int)(*bytes / *unit);
}

int main(void) {
  int rank, there;
  double *mine, *base;
  MPI_Win win;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate(10 * (rank + 1) * sizeof *mine, sizeof *mine,
                   MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
  MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &there);
  printf("rank %d: %d numbers %s\n", rank, number_of_elements(win),
         base == mine ? "at its address" : "elsewhere");
  MPI_Win_free(&win);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   rank 0: 10 numbers at its address
   rank 1: 20 numbers at its address */
