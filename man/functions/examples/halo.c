/* SPDX-License-Identifier: BSD-3-Clause */
/* Exchange with both neighbours, and compute meanwhile what does not need them. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  enum { N = 1000 };
  int rank, size;
  double u[N + 2]; /* u[0] and u[N + 1] are the neighbours' */
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < N + 2; i++) u[i] = rank;
  /* To and from MPI_PROC_NULL nothing is sent: the ends are no special case. */
  int left = rank > 0 ? rank - 1 : MPI_PROC_NULL,
      right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
  MPI_Request requests[4];
  MPI_Irecv(&u[0], 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(&u[N + 1], 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD,
            &requests[1]);
  MPI_Isend(&u[1], 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[2]);
  MPI_Isend(&u[N], 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[3]);
  double sum = 0;
  for (int i = 2; i < N; i++) sum += u[i];
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  sum += u[0] + u[N + 1];
  printf("rank %d: %g\n", rank, sum);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0: 1
   rank 1: 1000
   rank 2: 1999 */
