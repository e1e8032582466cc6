/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of a grid as communicators: each row gets its sum. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, size, sum, at[2], dims[2] = {2, 0}, periods[2] = {0, 0};
  MPI_Comm grid, row;
  MPI_Init(NULL, NULL);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Dims_create(size, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  MPI_Comm_rank(grid, &rank);
  MPI_Cart_coords(grid, rank, 2, at);
  MPI_Cart_sub(grid, (int[]){0, 1},
               &row); /* what stays is the second dimension */
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, row);
  if (at[1] == 0) printf("row %d: %d\n", at[0], sum);
  MPI_Comm_free(&row);
  MPI_Comm_free(&grid);
  MPI_Finalize();
}

/* mpirun -n 4 prints, in some order:
   row 0: 1
   row 1: 5 */
