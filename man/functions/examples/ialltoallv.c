/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rank gives the ranks behind it what it has for them, and adds its own part while that travels. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  enum { MOST = 64 };
  int rank, size, out[MOST], in[MOST], give[MOST], get[MOST], at[MOST], sum;
  MPI_Request request;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > MOST) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int r = 0; r < size; r++) {
    out[r] = 10 * rank + r, in[r] = 0, at[r] = r;
    give[r] = r > rank, get[r] = r < rank; /* one number, or nothing */
  }
  MPI_Ialltoallv(out, give, at, MPI_INT, in, get, at, MPI_INT,
                 MPI_COMM_WORLD, &request);
  sum = out[rank];
  MPI_Wait(
      &request,
      MPI_STATUS_IGNORE); /* the arrays of counts stay until here, too */
  for (int r = 0; r < size; r++) sum += in[r];
  printf("rank %d: %d\n", rank, sum);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0: 0
   rank 1: 12
   rank 2: 36 */
