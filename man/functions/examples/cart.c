/* SPDX-License-Identifier: BSD-3-Clause */
/* A grid of ranks: where each stands, and who is next to it. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, size, dims[2] = {0, 0}, periods[2] = {1, 0}, at[2], up, down;
  MPI_Comm grid;
  MPI_Init(NULL, NULL);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Dims_create(size, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid);
  MPI_Comm_rank(grid, &rank);
  MPI_Cart_coords(grid, rank, 2, at);
  MPI_Cart_shift(
      grid, 1, 1, &up,
      &down); /* at the ends of dimension 1 there is nobody: MPI_PROC_NULL */
  printf("(%d, %d): %s before, %s behind\n", at[0], at[1],
         up == MPI_PROC_NULL ? "nobody" : "a rank",
         down == MPI_PROC_NULL ? "nobody" : "a rank");
  MPI_Comm_free(&grid);
  MPI_Finalize();
}

/* mpirun -n 4 prints, in some order:
   (0, 0): nobody before, a rank behind
   (0, 1): a rank before, nobody behind
   (1, 0): nobody before, a rank behind
   (1, 1): a rank before, nobody behind */
