/* SPDX-License-Identifier: BSD-3-Clause */
/* One mistake under the initial error handler, chosen by name: each must end the program with a
 * sentence (see fatal.sh). */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  const char* mistake = argc > 1 ? argv[1] : "";
  int x = 0;
  if (!strcmp(mistake, "before")) MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  MPI_Init(&argc, &argv);
  if (!strcmp(mistake, "rank")) MPI_Send(&x, 1, MPI_INT, 7, 0, MPI_COMM_WORLD);
  if (!strcmp(mistake, "null")) MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_NULL);
  if (!strcmp(mistake, "twice")) MPI_Init(&argc, &argv);
  MPI_Finalize();
  if (!strcmp(mistake, "after")) MPI_Barrier(MPI_COMM_WORLD);
  if (!strcmp(mistake, "finalize twice")) MPI_Finalize();
  printf("went on\n");
  return 0;
}
