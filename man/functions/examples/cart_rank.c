/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rank of a grid finds the one at the corner across: a communicator alone says what the grid is. */
#include <mpi.h>
#include <stdio.h>

static int opposite_of(MPI_Comm grid) {
  int n, dims[3], periods[3], at[3], there;
  MPI_Cartdim_get(grid, &n);
  if (n > 3) return MPI_PROC_NULL;
  MPI_Cart_get(grid, n, dims, periods, at); /* `at` is this rank's place */
  for (int i = 0; i < n; i++) at[i] = dims[i] - 1 - at[i];
  MPI_Cart_rank(grid, at, &there);
  return there;
}

int main(void) {
  int rank, size, dims[2] = {0, 0}, periods[2] = {0, 0};
  MPI_Comm grid;
  MPI_Init(NULL, NULL);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Dims_create(size, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  MPI_Comm_rank(grid, &rank);
  printf("across from rank %d is rank %d\n", rank, opposite_of(grid));
  MPI_Comm_free(&grid);
  MPI_Finalize();
}

/* mpirun -n 4 prints, in some order:
   across from rank 0 is rank 3
   across from rank 1 is rank 2
   across from rank 2 is rank 1
   across from rank 3 is rank 0 */
