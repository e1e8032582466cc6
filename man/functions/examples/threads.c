/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether several threads may call MPI at once. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
  int provided, rank, main_thread;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Is_thread_main(&main_thread);
  if (rank == 0)
    printf("any thread may call: %s\n",
           provided == MPI_THREAD_MULTIPLE && main_thread ? "yes" : "no");
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   any thread may call: yes */
