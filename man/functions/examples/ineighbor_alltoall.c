/* SPDX-License-Identifier: BSD-3-Clause */
/* The border of a piece travels to the neighbours while its inner part is worked on. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  enum { N = 8 };
  int rank, size, ring_is_closed = 1;
  double piece[N], border[2], halo[2], inner = 0;
  MPI_Comm ring;
  MPI_Request request;
  MPI_Init(NULL, NULL);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &ring_is_closed, 0, &ring);
  MPI_Comm_rank(ring, &rank);
  for (int i = 0; i < N; i++) piece[i] = N * rank + i;
  border[0] = piece[0], border[1] = piece[N - 1];
  MPI_Ineighbor_alltoall(border, 1, MPI_DOUBLE, halo, 1, MPI_DOUBLE, ring,
                         &request);
  for (int i = 1; i + 1 < N; i++)
    inner += piece[i - 1] - 2 * piece[i] + piece[i + 1];
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  printf("rank %d: inner part %g, %g before it, %g behind it\n", rank,
         inner, halo[0], halo[1]);
  MPI_Comm_free(&ring);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0: inner part 0, 23 before it, 8 behind it
   rank 1: inner part 0, 7 before it, 16 behind it
   rank 2: inner part 0, 15 before it, 0 behind it */
