/* SPDX-License-Identifier: BSD-3-Clause */
/* Datatypes and windows with names, which error messages show; MPI's own datatypes have theirs. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int length, *mine;
  char name[MPI_MAX_OBJECT_NAME];
  MPI_Datatype point;
  MPI_Win win;
  MPI_Init(NULL, NULL);
  MPI_Type_get_name(MPI_DOUBLE, name, &length);
  printf("%s\n", name);
  MPI_Type_contiguous(3, MPI_DOUBLE, &point);
  MPI_Type_set_name(point, "point");
  MPI_Type_get_name(point, name, &length);
  printf("%s\n", name);
  MPI_Win_allocate(sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_SELF,
                   &mine, &win);
  MPI_Win_set_name(win, "counters");
  MPI_Win_get_name(win, name, &length);
  printf("%s\n", name);
  MPI_Win_free(&win);
  MPI_Type_free(&point);
  MPI_Finalize();
}

/* mpirun -n 1 prints, in some order:
   MPI_DOUBLE
   point
   counters */
