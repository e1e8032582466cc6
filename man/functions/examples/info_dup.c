/* SPDX-License-Identifier: BSD-3-Clause */
/* Hints of the user's, to which a library adds one and from which it takes one, in a copy of its own. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int there, keys;
  MPI_Info users, own;
  MPI_Init(NULL, NULL);
  MPI_Info_create(&users);
  MPI_Info_set(users, "cb_nodes", "2");
  MPI_Info_set(users, "solver", "fast");
  MPI_Info_dup(users, &own);
  MPI_Info_delete(own, "solver"); /* it means nothing to MPI */
  MPI_Info_set(own, "access_style", "write_once");
  MPI_Info_get_nkeys(own, &keys);
  MPI_Info_get_string(users, "solver", &(int){0}, NULL, &there);
  printf("%d hints; the user's solver is still there: %s\n", keys,
         there ? "yes" : "no");
  MPI_Info_free(&own), MPI_Info_free(&users);
  MPI_Finalize();
}

/* mpirun -n 1 prints, in some order:
   2 hints; the user's solver is still there: yes */
