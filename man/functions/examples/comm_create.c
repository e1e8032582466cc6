/* SPDX-License-Identifier: BSD-3-Clause */
/* All ranks call, and those of the group get a communicator: here all but rank 0, which serves them. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, zero = 0, sum, members;
  MPI_Group all, workers;
  MPI_Comm comm;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_excl(all, 1, &zero, &workers);
  MPI_Comm_create(MPI_COMM_WORLD, workers, &comm);
  if (comm == MPI_COMM_NULL) {
    MPI_Group_size(workers, &members);
    printf("rank %d serves %d workers\n", rank, members);
  } else {
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    printf("rank %d works; the sum is %d\n", rank, sum);
    MPI_Comm_free(&comm);
  }
  MPI_Group_free(&workers);
  MPI_Group_free(&all);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0 serves 2 workers
   rank 1 works; the sum is 3
   rank 2 works; the sum is 3 */
