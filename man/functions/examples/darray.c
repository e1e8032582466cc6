/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank's part of a matrix that is dealt out in blocks of two rows and two columns, as many solvers want it. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  enum { N = 8 };
  int rank, size, bytes, grid[2] = {0, 0}, sizes[2] = {N, N};
  int cyclic[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC},
      blocks[2] = {2, 2};
  double matrix[N][N], mine[N * N] = {0};
  MPI_Datatype part;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Dims_create(size, 2, grid);
  MPI_Type_create_darray(size, rank, 2, sizes, cyclic, blocks, grid,
                         MPI_ORDER_C, MPI_DOUBLE, &part);
  MPI_Type_commit(&part);
  MPI_Type_size(part, &bytes);
  int n = bytes / (int)sizeof(double), position = 0;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) matrix[i][j] = 10 * i + j;
  MPI_Pack(matrix, 1, part, mine, sizeof mine, &position, MPI_COMM_SELF);
  printf("rank %d has %d entries, from %g to %g\n", rank, n, mine[0],
         mine[n - 1]);
  MPI_Type_free(&part);
  MPI_Finalize();
}

/* mpirun -n 4 prints, in some order:
   rank 0 has 16 entries, from 0 to 55
   rank 1 has 16 entries, from 2 to 57
   rank 2 has 16 entries, from 20 to 75
   rank 3 has 16 entries, from 22 to 77 */
