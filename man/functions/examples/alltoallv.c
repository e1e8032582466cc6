/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rank gives rank r r + 1 numbers. The counts are exchanged first. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  int rank, size, out = 0, in = 0, sum = 0;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int *numbers = malloc(4 * size * sizeof *numbers);
  int *sendcounts = numbers, *recvcounts = numbers + size,
      *sdispls = numbers + 2 * size, *rdispls = numbers + 3 * size;
  for (int r = 0; r < size; r++) sendcounts[r] = r + 1;
  MPI_Alltoall(sendcounts, 1, MPI_INT, recvcounts, 1, MPI_INT,
               MPI_COMM_WORLD);
  for (int r = 0; r < size; r++) {
    sdispls[r] = out, out += sendcounts[r];
    rdispls[r] = in, in += recvcounts[r];
  }
  int *given = malloc(out * sizeof *given), *got = malloc(in * sizeof *got);
  for (int i = 0; i < out; i++) given[i] = rank;
  MPI_Alltoallv(given, sendcounts, sdispls, MPI_INT, got, recvcounts,
                rdispls, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < in; i++) sum += got[i];
  printf("rank %d got %d numbers, sum %d\n", rank, in, sum);
  free(numbers), free(given), free(got);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0 got 3 numbers, sum 3
   rank 1 got 6 numbers, sum 6
   rank 2 got 9 numbers, sum 9 */
