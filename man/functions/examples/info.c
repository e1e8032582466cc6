/* SPDX-License-Identifier: BSD-3-Clause */
/* All keys of an info object, with their values. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  MPI_Info info;
  int rank, keys;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_nodes", "4");
  MPI_Info_set(info, "file_perm", "600");
  MPI_Info_get_nkeys(info, &keys);
  for (int i = 0; i < keys && rank == 0; i++) {
    char key[MPI_MAX_INFO_KEY], value[100];
    int room = sizeof value, there;
    MPI_Info_get_nthkey(info, i, key);
    MPI_Info_get_string(info, key, &room, value, &there);
    printf("%s = %s\n", key, value);
  }
  MPI_Info_free(&info);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   cb_nodes = 4
   file_perm = 600 */
