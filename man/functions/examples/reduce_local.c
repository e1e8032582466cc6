/* SPDX-License-Identifier: BSD-3-Clause */
/* The largest of each entry along a chain of ranks: each joins what it gets with what it has. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, size, values[3], before[3], commutes;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 3; i++) values[i] = (rank + 2) * (i + 1) % 5;
  MPI_Op_commutative(MPI_MAX, &commutes);
  if (rank > 0) {
    MPI_Recv(before, 3, MPI_INT, rank - 1, 0, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    MPI_Reduce_local(before, values, 3, MPI_INT, MPI_MAX); /* into values */
  }
  if (rank + 1 < size)
    MPI_Send(values, 3, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
  else
    printf("%d %d %d; the order matters: %s\n", values[0], values[1],
           values[2], commutes ? "no" : "yes");
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   4 4 4; the order matters: no */
