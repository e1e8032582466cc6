/* SPDX-License-Identifier: BSD-3-Clause */
/* A function that gets a communicator with a graph, and counts what all ranks say of it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int entries_of(MPI_Comm graph) {
  int nodes, edges;
  MPI_Graphdims_get(graph, &nodes, &edges);
  int *ends = malloc(nodes * sizeof *ends),
      *to = malloc(edges * sizeof *to);
  MPI_Graph_get(graph, nodes, edges, ends, to);
  int last =
      ends[nodes - 1]; /* where the neighbours of the last rank end */
  free(ends), free(to);
  return last;
}

int main(void) {
  int rank, ends[3] = {1, 3, 4}, to[4] = {1, 0, 2, 1}; /* 0 - 1 - 2 */
  MPI_Comm chain;
  MPI_Init(NULL, NULL);
  MPI_Graph_create(MPI_COMM_WORLD, 3, ends, to, 0, &chain);
  if (chain != MPI_COMM_NULL) { /* ranks behind the third have none */
    MPI_Comm_rank(chain, &rank);
    if (rank == 0)
      printf("%d entries: both ends tell of each edge\n",
             entries_of(chain));
    MPI_Comm_free(&chain);
  }
  MPI_Finalize();
}

/* mpirun -n 4 prints, in some order:
   4 entries: both ends tell of each edge */
