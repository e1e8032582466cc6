/* SPDX-License-Identifier: BSD-3-Clause */
/* A library keeps with a datatype how its elements are called. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int key, there;
  char *name;
  static char point_name[] = "point";
  MPI_Datatype point, copy;
  MPI_Init(NULL, NULL);
  MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &key,
                         NULL);
  MPI_Type_contiguous(3, MPI_DOUBLE, &point);
  MPI_Type_set_attr(point, key, point_name);
  MPI_Type_dup(point, &copy); /* MPI_TYPE_DUP_FN: a copy has it, too */
  MPI_Type_get_attr(copy, key, &name, &there);
  printf("it is a %s\n", there ? name : "thing");
  MPI_Type_delete_attr(copy, key);
  MPI_Type_get_attr(copy, key, &name, &there);
  printf("it is a %s\n", there ? name : "thing");
  MPI_Type_free(&copy), MPI_Type_free(&point);
  MPI_Type_free_keyval(&key);
  MPI_Finalize();
}

/* mpirun -n 1 prints, in some order:
   it is a point
   it is a thing */
