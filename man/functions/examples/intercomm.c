/* SPDX-License-Identifier: BSD-3-Clause */
/* Two halves of the ranks, which speak to each other, and are one again. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, size, others, sum, all;
  MPI_Comm half, both, merged;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int second = rank >= size / 2;
  MPI_Comm_split(MPI_COMM_WORLD, second, rank, &half);
  /* Rank 0 of each half leads it; the leaders know each other by MPI_COMM_WORLD. */
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, second ? 0 : size / 2, 1,
                       &both);
  MPI_Comm_remote_size(both, &others);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM,
                both); /* of the other half */
  MPI_Intercomm_merge(both, second, &merged);
  MPI_Comm_size(merged, &all);
  printf("rank %d: %d others with the sum %d, %d in all\n", rank, others,
         sum, all);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0: 2 others with the sum 3, 3 in all
   rank 1: 1 others with the sum 0, 3 in all
   rank 2: 1 others with the sum 0, 3 in all */
