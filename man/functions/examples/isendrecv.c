/* SPDX-License-Identifier: BSD-3-Clause */
/* All ranks exchange with the next one while they work on what needs no others. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, size, mine, theirs, inside = 0;
  MPI_Request request;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  mine = 10 * rank;
  MPI_Isendrecv(&mine, 1, MPI_INT, (rank + 1) % size, 0, &theirs, 1,
                MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                &request);
  for (int i = 0; i < 1000; i++) inside += i;
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  printf("rank %d: %d of its own, %d from the rank before\n", rank, inside,
         theirs);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0: 499500 of its own, 20 from the rank before
   rank 1: 499500 of its own, 0 from the rank before
   rank 2: 499500 of its own, 10 from the rank before */
