/* SPDX-License-Identifier: BSD-3-Clause */
/* Who is at the other side of an intercommunicator, by the ranks of MPI_COMM_WORLD. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, size, is_inter, zero = 0, first;
  MPI_Comm half, both;
  MPI_Group all, others;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int second = rank >= size / 2;
  MPI_Comm_split(MPI_COMM_WORLD, second, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, second ? 0 : size / 2, 0,
                       &both);
  MPI_Comm_test_inter(both, &is_inter);
  if (is_inter) { /* of an intracommunicator there is no other side */
    MPI_Comm_remote_group(both, &others);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_translate_ranks(others, 1, &zero, all, &first);
    printf("rank %d: the others' first one is rank %d\n", rank, first);
    MPI_Group_free(&all);
    MPI_Group_free(&others);
  }
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0: the others' first one is rank 1
   rank 1: the others' first one is rank 0
   rank 2: the others' first one is rank 0 */
