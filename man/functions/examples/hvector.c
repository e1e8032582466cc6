/* SPDX-License-Identifier: BSD-3-Clause */
/* One member of each struct of an array: the steps from one to the next are bytes. */
#include <mpi.h>
#include <stdio.h>

typedef struct {
  char name[8];
  double mass;
} Body;

int main(void) {
  enum { N = 3 };
  int rank;
  Body bodies[N] = {{"one", 1}, {"two", 2}, {"three", 3}};
  double masses[N] = {0};
  MPI_Datatype mass_of_each;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Type_create_hvector(N, 1, sizeof(Body), MPI_DOUBLE, &mass_of_each);
  MPI_Type_commit(&mass_of_each);
  if (rank == 0) {
    MPI_Send(&bodies[0].mass, 1, mass_of_each, 1, 0, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Recv(masses, N, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    printf("%g %g %g\n", masses[0], masses[1], masses[2]);
  }
  MPI_Type_free(&mass_of_each);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   1 2 3 */
