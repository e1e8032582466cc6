/* SPDX-License-Identifier: BSD-3-Clause */
/* A displacement behind the end of a window, as an error that the program deals with. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, *mine, seven = 7, class;
  MPI_Win win;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate(4 * sizeof(int), sizeof(int), MPI_INFO_NULL,
                   MPI_COMM_WORLD, &mine, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_fence(0, win);
  int code = MPI_Put(&seven, 1, MPI_INT, 0, 4, 1, MPI_INT,
                     win); /* the last is 3 */
  MPI_Win_fence(0, win);
  MPI_Error_class(code, &class);
  printf("rank %d: %s\n", rank,
         class == MPI_ERR_RMA_RANGE ? "out of the window"
         : class == MPI_SUCCESS     ? "written"
                                    : "another error");
  MPI_Win_free(&win);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   rank 0: out of the window
   rank 1: out of the window */
