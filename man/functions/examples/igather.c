/* SPDX-License-Identifier: BSD-3-Clause */
/* The next share of work goes out while the results of the last one come in. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  int rank, size, share, next, result;
  MPI_Request requests[2];
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int *shares = malloc(2 * size * sizeof *shares),
      *results = malloc(size * sizeof *results);
  for (int i = 0; i < 2 * size; i++) shares[i] = i;
  MPI_Scatter(shares, 1, MPI_INT, &share, 1, MPI_INT, 0, MPI_COMM_WORLD);
  result = share * share;
  /* All ranks start the two in one order; they may end in another one. */
  MPI_Iscatter(shares + size, 1, MPI_INT, &next, 1, MPI_INT, 0,
               MPI_COMM_WORLD, &requests[0]);
  MPI_Igather(&result, 1, MPI_INT, results, 1, MPI_INT, 0, MPI_COMM_WORLD,
              &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  if (rank == 0) printf("the last result is %d\n", results[size - 1]);
  printf("rank %d has %d to do\n", rank, next);
  free(shares), free(results);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   the last result is 4
   rank 0 has 3 to do
   rank 1 has 4 to do
   rank 2 has 5 to do */
