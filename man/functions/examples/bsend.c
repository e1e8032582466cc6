/* SPDX-License-Identifier: BSD-3-Clause */
/* Both ranks send before they receive, from a buffer that they lend. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  int rank, got, bytes;
  void *buffer;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Pack_size(1, MPI_INT, MPI_COMM_WORLD, &bytes);
  bytes += MPI_BSEND_OVERHEAD; /* for each message that may be under way */
  MPI_Buffer_attach(malloc(bytes), bytes);
  if (rank < 2) {
    MPI_Bsend(&rank, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD);
    MPI_Recv(&got, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    printf("rank %d got %d\n", rank, got);
  }
  MPI_Buffer_detach(&buffer, &bytes); /* waits until all is sent */
  free(buffer);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   rank 0 got 1
   rank 1 got 0 */
