/* SPDX-License-Identifier: BSD-3-Clause */
/* How much memory a datatype needs from where on: a buffer for it that is no larger than it must be. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  int sizes[2] = {100, 100}, inner[2] = {2, 10}, start[2] = {50, 20};
  MPI_Aint lb, extent, first, bytes;
  MPI_Datatype window;
  MPI_Init(NULL, NULL);
  MPI_Type_create_subarray(2, sizes, inner, start, MPI_ORDER_C, MPI_CHAR,
                           &window);
  MPI_Type_commit(&window);
  MPI_Type_get_extent(window, &lb, &extent);
  MPI_Type_get_true_extent(window, &first, &bytes);
  printf("%d bytes of %d, from byte %d on\n", (int)bytes, (int)extent,
         (int)first);
  char *memory = malloc(bytes);
  memory[0] = 'a';
  MPI_Bcast(memory - first, 1, window, 0, MPI_COMM_SELF);
  free(memory);
  MPI_Type_free(&window);
  MPI_Finalize();
}

/* mpirun -n 1 prints, in some order:
   110 bytes of 10000, from byte 5020 on */
