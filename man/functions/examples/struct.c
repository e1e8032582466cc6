/* SPDX-License-Identifier: BSD-3-Clause */
/* An array of structs is sent by a datatype that is laid out as they are. */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>

typedef struct {
  char kind;
  double at[3];
  int charge;
} Particle;

int main(void) {
  int rank, lengths[] = {1, 3, 1};
  MPI_Aint places[] = {offsetof(Particle, kind), offsetof(Particle, at),
                       offsetof(Particle, charge)},
           lb, extent;
  MPI_Datatype types[] = {MPI_CHAR, MPI_DOUBLE, MPI_INT}, packed, particle;
  Particle p[2] = {{0}};
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Type_create_struct(3, lengths, places, types, &packed);
  /* In an array one Particle stands sizeof(Particle) behind the other. */
  MPI_Type_create_resized(packed, 0, sizeof(Particle), &particle);
  MPI_Type_commit(&particle);
  MPI_Type_get_extent(particle, &lb, &extent);
  if (rank == 0) {
    p[1] = (Particle){'e', {1, 2, 3}, -1};
    MPI_Send(p, 2, particle, 1, 0, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Recv(p, 2, particle, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("%c at %g, charge %d, extent %d\n", p[1].kind, p[1].at[2],
           p[1].charge, (int)extent);
  }
  MPI_Type_free(&packed);
  MPI_Type_free(&particle);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   e at 3, charge -1, extent 40 */
