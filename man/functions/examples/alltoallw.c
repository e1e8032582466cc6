/* SPDX-License-Identifier: BSD-3-Clause */
/* A matrix that is distributed by rows becomes one that is distributed by columns, without a copy in between. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  enum { N = 12, MOST = 12 }; /* for each number of ranks that divides N */
  int rank, size, rows[N][N], columns[N][N], ones[MOST], from[MOST],
      to[MOST];
  MPI_Datatype part[MOST], block[MOST];
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int each = N / size;
  for (int i = 0; i < each; i++)
    for (int j = 0; j < N; j++) rows[i][j] = 100 * (each * rank + i) + j;
  for (int r = 0; r < size; r++) { /* displacements are bytes */
    ones[r] = 1, from[r] = each * r * sizeof(int),
    to[r] = each * each * r * sizeof(int);
    MPI_Type_vector(each, each, N, MPI_INT, &part[r]); /* of my rows */
    MPI_Type_contiguous(each * each, MPI_INT, &block[r]);
    MPI_Type_commit(&part[r]), MPI_Type_commit(&block[r]);
  }
  MPI_Alltoallw(rows, ones, from, part, columns, ones, to, block,
                MPI_COMM_WORLD);
  int *mine = &columns[0][0]; /* N rows of `each` columns */
  printf("rank %d: from %d to %d\n", rank, mine[0], mine[N * each - 1]);
  for (int r = 0; r < size; r++)
    MPI_Type_free(&part[r]), MPI_Type_free(&block[r]);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0: from 0 to 1103
   rank 1: from 4 to 1107
   rank 2: from 8 to 1111 */
