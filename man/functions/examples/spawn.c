/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that starts two more processes of itself, which tell it their ranks. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
  int rank, sum;
  MPI_Comm parent, children;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) {
    rank++;
    MPI_Reduce(&rank, NULL, 1, MPI_INT, MPI_SUM, 0,
               parent); /* to rank 0 of the other group */
    MPI_Comm_disconnect(&parent);
  } else {
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0,
                   MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
    MPI_Reduce(NULL, &sum, 1, MPI_INT, MPI_SUM,
               rank == 0 ? MPI_ROOT : MPI_PROC_NULL, children);
    if (rank == 0) printf("the children have sent %d\n", sum);
    MPI_Comm_disconnect(&children);
  }
  MPI_Finalize();
}

/* mpirun -n 1 prints, in some order:
   the children have sent 3 */
