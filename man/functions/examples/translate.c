/* SPDX-License-Identifier: BSD-3-Clause */
/* Which rank of MPI_COMM_WORLD somebody is that one knows by another communicator. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, size, zero = 0, known_as;
  MPI_Comm backwards;
  MPI_Group all, here;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &backwards);
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Comm_group(backwards, &here);
  MPI_Group_translate_ranks(here, 1, &zero, all, &known_as);
  if (rank == 0)
    printf("its rank 0 is rank %d of MPI_COMM_WORLD\n", known_as);
  MPI_Group_free(&here);
  MPI_Group_free(&all);
  MPI_Comm_free(&backwards);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   its rank 0 is rank 2 of MPI_COMM_WORLD */
