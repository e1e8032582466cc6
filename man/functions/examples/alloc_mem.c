/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that MPI has chosen for what is sent or put often. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  enum { N = 1000 };
  int rank;
  double *values;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Alloc_mem(N * sizeof *values, MPI_INFO_NULL,
                &values); /* the address of a pointer */
  for (int i = 0; i < N; i++) values[i] = rank == 0 ? i : 0;
  MPI_Bcast(values, N, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  printf("rank %d: the last is %g\n", rank, values[N - 1]);
  MPI_Free_mem(values);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   rank 0: the last is 999
   rank 1: the last is 999 */
