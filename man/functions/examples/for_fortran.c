/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator for a subroutine in Fortran without mpi_f08, for which it is an integer, and one from there. */
#include <mpi.h>
#include <stdio.h>

/* What a Fortran compiler makes of `subroutine work(comm)`; here it is C that plays it. */
static void work_(const MPI_Fint *comm) {
  int rank;
  MPI_Comm same = MPI_Comm_f2c(*comm);
  MPI_Comm_rank(same, &rank);
  printf("rank %d works\n", rank);
}

int main(void) {
  MPI_Init(NULL, NULL);
  MPI_Fint comm = MPI_Comm_c2f(MPI_COMM_WORLD);
  work_(&comm);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   rank 0 works
   rank 1 works */
