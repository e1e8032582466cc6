/* SPDX-License-Identifier: BSD-3-Clause */
/* The values of a linked list, whose nodes lie anywhere: places from the first one on, all of one length. */
#include <mpi.h>
#include <stdio.h>

typedef struct Node {
  struct Node *next;
  int value[2];
} Node;

int main(void) {
  enum { N = 3 };
  int rank, got[2 * N] = {0};
  MPI_Aint first, here, places[N];
  MPI_Datatype values;
  Node nodes[N] = {
      {&nodes[2], {1, 2}}, {NULL, {5, 6}}, {&nodes[1], {3, 4}}};
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    MPI_Get_address(nodes[0].value, &first);
    int n = 0;
    for (Node *node = nodes; node; node = node->next) {
      MPI_Get_address(node->value, &here);
      places[n++] = MPI_Aint_diff(here, first);
    }
    MPI_Type_create_hindexed_block(n, 2, places, MPI_INT, &values);
    MPI_Type_commit(&values);
    MPI_Send(nodes[0].value, 1, values, 1, 0, MPI_COMM_WORLD);
    MPI_Type_free(&values);
  } else if (rank == 1) {
    MPI_Recv(got, 2 * N, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2 * N; i += 2)
      printf("%d %d\n", got[i], got[i + 1]);
  }
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   1 2
   3 4
   5 6 */
