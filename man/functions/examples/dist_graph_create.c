/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 alone knows who gives to whom; each rank learns from the communicator what that means for it. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, n, from[2] = {0, 1}, degrees[2] = {2, 1}, to[3] = {1, 2, 2};
  int in, out, weighted, givers[3], takers[3];
  MPI_Comm graph;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  n = rank == 0 ? 2 : 0; /* 0 gives to 1 and 2, and 1 gives to 2 */
  MPI_Dist_graph_create(MPI_COMM_WORLD, n, from, degrees, to,
                        MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
  MPI_Dist_graph_neighbors(graph, in, givers, MPI_UNWEIGHTED, out, takers,
                           MPI_UNWEIGHTED);
  printf("rank %d gets from %d and gives to %d\n", rank, in, out);
  for (int i = 0; i < in; i++) printf("  %d -> %d\n", givers[i], rank);
  MPI_Comm_free(&graph);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0 gets from 0 and gives to 2
   rank 1 gets from 1 and gives to 1
   rank 2 gets from 2 and gives to 0
     0 -> 1
     0 -> 2
     1 -> 2 */
