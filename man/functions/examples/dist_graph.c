/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rank gives to the one behind it and gets from the one before: a ring as a graph. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, size, got;
  MPI_Comm ring;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int before = (rank + size - 1) % size, behind = (rank + 1) % size;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED,
                                 1, &behind, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                 0, &ring);
  MPI_Neighbor_allgather(&rank, 1, MPI_INT, &got, 1, MPI_INT, ring);
  printf("rank %d got %d\n", rank, got);
  MPI_Comm_free(&ring);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0 got 2
   rank 1 got 0
   rank 2 got 1 */
