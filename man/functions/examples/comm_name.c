/* SPDX-License-Identifier: BSD-3-Clause */
/* A name that error messages and debuggers show. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, length;
  char name[MPI_MAX_OBJECT_NAME];
  MPI_Comm comm;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_name(comm, "pressure solver");
  MPI_Comm_get_name(comm, name, &length);
  if (rank == 0) printf("%s (%d characters)\n", name, length);
  MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
  if (rank == 0) printf("%s\n", name);
  MPI_Comm_free(&comm);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   pressure solver (15 characters)
   MPI_COMM_WORLD */
