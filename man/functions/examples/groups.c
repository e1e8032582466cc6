/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator of the even ranks; the others need not call. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, size, even[64], n = 0;
  MPI_Group all, group;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int r = 0; r < size && n < 64; r += 2) even[n++] = r;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, n, even, &group);
  if (rank % 2 == 0) {
    MPI_Comm comm;
    int sum;
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &comm);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    printf("rank %d: sum of the even ranks %d\n", rank, sum);
    MPI_Comm_free(&comm);
  }
  MPI_Group_free(&group);
  MPI_Group_free(&all);
  MPI_Finalize();
}

/* mpirun -n 4 prints, in some order:
   rank 0: sum of the even ranks 2
   rank 2: sum of the even ranks 2 */
