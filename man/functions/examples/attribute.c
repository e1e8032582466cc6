/* SPDX-License-Identifier: BSD-3-Clause */
/* A library keeps what it knows of a communicator with it, and hears when that is freed. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int forget(MPI_Comm comm, int key, void *value, void *extra) {
  (void)comm, (void)key, (void)extra;
  free(value);
  return MPI_SUCCESS;
}

int main(void) {
  int rank, key, there, *calls, *tag_ub;
  MPI_Comm comm;
  MPI_Init(NULL, NULL);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &key, NULL);
  calls = malloc(sizeof *calls);
  *calls = 3;
  MPI_Comm_set_attr(comm, key, calls);
  MPI_Comm_get_attr(comm, key, &calls,
                    &there); /* the address of a pointer */
  if (rank == 0 && there) printf("%d calls\n", *calls);
  MPI_Comm_get_attr(comm, MPI_TAG_UB, &tag_ub, &there);
  if (rank == 0 && there)
    printf("tags up to 32767: %s\n", *tag_ub >= 32767 ? "yes" : "no");
  MPI_Comm_free(&comm); /* calls forget() */
  MPI_Comm_free_keyval(&key);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   3 calls
   tags up to 32767: yes */
