/* SPDX-License-Identifier: BSD-3-Clause */
/* The upper triangle of a matrix in one message. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  enum { N = 3 };
  int rank, lengths[N], places[N], bytes, a[N][N], upper[N * (N + 1) / 2];
  MPI_Datatype triangle;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < N; i++) {
    lengths[i] =
        N - i; /* of row i what stands at and behind the diagonal */
    places[i] = i * N + i; /* in elements from the start */
  }
  MPI_Type_indexed(N, lengths, places, MPI_INT, &triangle);
  MPI_Type_commit(&triangle);
  MPI_Type_size(triangle, &bytes);
  if (rank == 0) {
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) a[i][j] = 10 * i + j;
    MPI_Send(a, 1, triangle, 1, 0, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Recv(upper, bytes / (int)sizeof(int), MPI_INT, 0, 0, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    for (int i = 0; i < bytes / (int)sizeof(int); i++)
      printf("%d ", upper[i]);
    printf("\n");
  }
  MPI_Type_free(&triangle);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   0 1 2 11 12 22 */
