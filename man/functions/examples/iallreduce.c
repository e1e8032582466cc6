/* SPDX-License-Identifier: BSD-3-Clause */
/* A sum of all ranks is on its way while the program does something else. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, size;
  double mine, sum, work = 0;
  MPI_Request request;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  mine = rank + 1;
  MPI_Iallreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
                 &request);
  for (int i = 0; i < 1000; i++)
    work += i; /* neither mine nor sum is touched */
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  printf("rank %d: sum %g, work %g\n", rank, sum, work);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0: sum 6, work 499500
   rank 1: sum 6, work 499500
   rank 2: sum 6, work 499500 */
