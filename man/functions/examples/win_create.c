/* SPDX-License-Identifier: BSD-3-Clause */
/* A window of memory that the program has, and one to which it is attached later. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, size, number, got, also;
  MPI_Win fixed, open;
  MPI_Aint address, theirs;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int next = (rank + 1) % size, before = (rank + size - 1) % size;
  number = 10 * rank;
  MPI_Win_create(&number, sizeof number, sizeof number, MPI_INFO_NULL,
                 MPI_COMM_WORLD, &fixed);
  MPI_Win_fence(0, fixed);
  MPI_Get(&got, 1, MPI_INT, next, 0, 1, MPI_INT, fixed);
  MPI_Win_fence(0, fixed);
  MPI_Win_free(&fixed);

  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &open);
  MPI_Win_attach(open, &number, sizeof number);
  MPI_Get_address(&number, &address); /* which others have to know */
  MPI_Sendrecv(&address, 1, MPI_AINT, before, 0, &theirs, 1, MPI_AINT, next,
               0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Win_fence(0, open);
  MPI_Get(&also, 1, MPI_INT, next, theirs, 1, MPI_INT, open);
  MPI_Win_fence(0, open);
  MPI_Win_detach(open, &number);
  MPI_Win_free(&open);
  printf("rank %d got %d and %d\n", rank, got, also);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   rank 0 got 10 and 10
   rank 1 got 20 and 20
   rank 2 got 0 and 0 */
