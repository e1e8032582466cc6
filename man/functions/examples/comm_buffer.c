/* SPDX-License-Identifier: BSD-3-Clause */
/* A library lends a buffer to its own communicator: whatever the program buffers, this room is the library's. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, size, got;
  static char room[1000 + MPI_BSEND_OVERHEAD];
  void *back;
  MPI_Request request;
  MPI_Comm mine;
  MPI_Init(NULL, NULL);
  MPI_Comm_dup(MPI_COMM_WORLD, &mine);
  MPI_Comm_rank(mine, &rank);
  MPI_Comm_size(mine, &size);
  MPI_Comm_attach_buffer(mine, room, sizeof room);
  MPI_Ibsend(&rank, 1, MPI_INT, (rank + 1) % size, 0, mine, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE); /* waits for no receiver */
  MPI_Recv(&got, 1, MPI_INT, (rank + size - 1) % size, 0, mine,
           MPI_STATUS_IGNORE);
  MPI_Comm_flush_buffer(mine); /* the room is empty again */
  printf("rank %d got %d\n", rank, got);
  MPI_Comm_detach_buffer(mine, &back, &size);
  MPI_Comm_free(&mine);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0 got 2
   rank 1 got 0
   rank 2 got 1 */
