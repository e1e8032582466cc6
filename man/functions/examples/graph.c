/* SPDX-License-Identifier: BSD-3-Clause */
/* A star: rank 0 is the neighbour of all others. Each rank gives the whole graph. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  int rank, size, n, kind;
  MPI_Comm star;
  MPI_Init(NULL, NULL);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int *ends = malloc(size * sizeof(int)),
      *edges = malloc(2 * size * sizeof(int));
  for (int r = 0; r < size; r++)
    ends[r] = size - 1 + r; /* where the neighbours of r end */
  for (int r = 1; r < size; r++) edges[r - 1] = r, edges[size - 2 + r] = 0;
  MPI_Graph_create(MPI_COMM_WORLD, size, ends, edges, 0, &star);
  MPI_Comm_rank(star, &rank);
  MPI_Topo_test(star, &kind);
  MPI_Graph_neighbors_count(star, rank, &n);
  MPI_Graph_neighbors(star, rank, n, edges);
  if (kind == MPI_GRAPH)
    printf("rank %d: %d neighbours, the first is rank %d\n", rank, n,
           edges[0]);
  free(ends), free(edges);
  MPI_Comm_free(&star);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0: 2 neighbours, the first is rank 1
   rank 1: 1 neighbours, the first is rank 0
   rank 2: 1 neighbours, the first is rank 0 */
