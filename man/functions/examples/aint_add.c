/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 1 writes behind the first half of an array that rank 0 has attached: it computes with an address of rank 0's. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, values[10] = {0}, seven = 7;
  MPI_Aint base = 0;
  MPI_Win win;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  if (rank == 0) {
    MPI_Win_attach(win, values, sizeof values);
    MPI_Get_address(values, &base);
  }
  MPI_Bcast(&base, 1, MPI_AINT, 0, MPI_COMM_WORLD);
  MPI_Win_fence(0, win);
  if (rank == 1)
    MPI_Put(&seven, 1, MPI_INT, 0, MPI_Aint_add(base, 5 * sizeof(int)), 1,
            MPI_INT, win);
  MPI_Win_fence(0, win);
  if (rank == 0) {
    printf("%d %d %d\n", values[4], values[5], values[6]);
    MPI_Win_detach(win, values);
  }
  MPI_Win_free(&win);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   0 7 0 */
