/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rank gives its value to the next one in a row that has ends: MPI_PROC_NULL makes that no special case. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int size, rank, ends = 0, from, to, mine, before = -1;
  MPI_Comm row;
  MPI_Init(NULL, NULL);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &ends, 0, &row);
  MPI_Comm_rank(row, &rank);
  mine = 10 * rank;
  MPI_Cart_shift(row, 0, 1, &from, &to);
  MPI_Sendrecv(&mine, 1, MPI_INT, to, 0, &before, 1, MPI_INT, from, 0, row,
               MPI_STATUS_IGNORE);
  printf("rank %d: %d before it\n", rank,
         before); /* still -1 on the first */
  MPI_Comm_free(&row);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0: -1 before it
   rank 1: 0 before it
   rank 2: 10 before it */
