/* SPDX-License-Identifier: BSD-3-Clause */
/* In a row of ranks each gives the one before it one number and the one behind it two. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, dims = 0, size, ends = 0, sum = 0;
  int give[3], got[3] = {0};
  int counts_out[] = {1, 2}, counts_in[] = {2, 1}, displs_out[] = {0, 1},
      displs_in[] = {0, 2};
  MPI_Comm row;
  MPI_Init(NULL, NULL);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Dims_create(size, 1, &dims);
  MPI_Cart_create(MPI_COMM_WORLD, 1, &dims, &ends, 0, &row);
  MPI_Comm_rank(row, &rank);
  for (int i = 0; i < 3; i++) give[i] = 10 * rank + i;
  /* Nobody is before the first and behind the last; their parts stay as they are. */
  MPI_Neighbor_alltoallv(give, counts_out, displs_out, MPI_INT, got,
                         counts_in, displs_in, MPI_INT, row);
  for (int i = 0; i < 3; i++) sum += got[i];
  printf("rank %d: %d\n", rank, sum);
  MPI_Comm_free(&row);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0: 10
   rank 1: 23
   rank 2: 23 */
