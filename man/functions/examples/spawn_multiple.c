/* SPDX-License-Identifier: BSD-3-Clause */
/* One program starts two others with arguments of their own, here itself as a reader and as two writers. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
  int rank;
  MPI_Comm parent, children;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) {
    printf("rank %d is a %s\n", rank, argc > 1 ? argv[1] : "?");
    MPI_Comm_disconnect(&parent);
  } else {
    char *programs[] = {argv[0], argv[0]};
    char *reader[] = {"reader", NULL}, *writer[] = {"writer", NULL};
    char **arguments[] = {reader, writer};
    MPI_Info hints[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm_spawn_multiple(2, programs, arguments, (int[]){1, 2}, hints, 0,
                            MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
    MPI_Comm_disconnect(&children);
  }
  MPI_Finalize();
}

/* mpirun -n 1 prints, in some order:
   rank 0 is a reader
   rank 1 is a writer
   rank 2 is a writer */
