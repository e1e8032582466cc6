/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading a hint in the way of MPI before 4.0, in which the program makes room by itself. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  int length, there;
  MPI_Info info;
  MPI_Init(NULL, NULL);
  MPI_Info_create(&info);
  MPI_Info_set(info, "access_style", "read_once,sequential");
  MPI_Info_get_valuelen(info, "access_style", &length, &there);
  if (there) {
    char *value =
        malloc(length + 1); /* the length is without the final 0 */
    MPI_Info_get(info, "access_style", length, value, &there);
    printf("%s (%d characters)\n", value, length);
    free(value);
  }
  MPI_Info_free(&info);
  MPI_Finalize();
}

/* mpirun -n 1 prints, in some order:
   read_once,sequential (20 characters) */
