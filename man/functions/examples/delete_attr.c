/* SPDX-License-Identifier: BSD-3-Clause */
/* What a library keeps with a communicator goes when the library ends, not only with the communicator. */
#include <mpi.h>
#include <stdio.h>

static int calls = 5;

int main(void) {
  int key, there, *found;
  MPI_Init(NULL, NULL);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN,
                         &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_WORLD, key, &calls);
  MPI_Comm_get_attr(MPI_COMM_WORLD, key, &found, &there);
  printf("%d calls\n", there ? *found : 0);
  MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
  MPI_Comm_get_attr(MPI_COMM_WORLD, key, &found, &there);
  printf("still there: %s\n", there ? "yes" : "no");
  MPI_Comm_free_keyval(&key);
  MPI_Finalize();
}

/* mpirun -n 1 prints, in some order:
   5 calls
   still there: no */
