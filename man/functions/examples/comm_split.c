/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of a grid of ranks, two in each; and a communicator that is the library's alone. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, rank_in_row, sum;
  MPI_Comm mine, row;
  MPI_Init(NULL, NULL);
  MPI_Comm_dup(MPI_COMM_WORLD, &mine);
  MPI_Comm_rank(mine, &rank);
  MPI_Comm_split(mine, rank / 2, rank, &row);
  MPI_Comm_rank(row, &rank_in_row);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, row);
  printf("rank %d is rank %d of its row, whose sum is %d\n", rank,
         rank_in_row, sum);
  MPI_Comm_free(&row);
  MPI_Comm_free(&mine);
  MPI_Finalize();
}

/* mpirun -n 4 prints, in some order:
   rank 0 is rank 0 of its row, whose sum is 1
   rank 1 is rank 1 of its row, whose sum is 1
   rank 2 is rank 0 of its row, whose sum is 5
   rank 3 is rank 1 of its row, whose sum is 5 */
