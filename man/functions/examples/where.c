/* SPDX-License-Identifier: BSD-3-Clause */
/* What the library is, and where the program runs. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, version, subversion, length, begun;
  char library[MPI_MAX_LIBRARY_VERSION_STRING],
      node[MPI_MAX_PROCESSOR_NAME];
  MPI_Initialized(&begun);
  if (!begun) MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Get_version(&version, &subversion);
  MPI_Get_library_version(library, &length);
  MPI_Get_processor_name(node, &length);
  if (rank == 0)
    printf("MPI %d.%d; the node has a name: %s\n", version, subversion,
           length > 0 ? "yes" : "no");
  if (rank == 0 && MPI_Wtick() > 0) printf("%.5s\n", library);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   MPI 5.0; the node has a name: yes
   Tutti */
