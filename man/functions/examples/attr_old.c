/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes in the way of MPI-1, which old libraries use. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int key, there, value = 7, *found;
  MPI_Comm comm;
  MPI_Init(NULL, NULL);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, &key, NULL);
  MPI_Attr_put(comm, key, &value);
  MPI_Attr_get(comm, key, &found, &there);
  printf("%d\n", there ? *found : 0);
  MPI_Attr_delete(comm, key);
  MPI_Keyval_free(&key);
  MPI_Comm_free(&comm);
  MPI_Finalize();
}

/* mpirun -n 1 prints, in some order:
   7 */
