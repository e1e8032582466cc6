/* SPDX-License-Identifier: BSD-3-Clause */
/* Which sets of processes there are, and how large they are. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  int n, length, there;
  char name[MPI_MAX_PSET_NAME_LEN], size[16];
  MPI_Session session;
  MPI_Info about;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n);
  for (int i = 0; i < n; i++) {
    length = sizeof name;
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name);
    MPI_Session_get_pset_info(session, name, &about);
    length = sizeof size;
    MPI_Info_get_string(about, "mpi_size", &length, size, &there);
    if (!strncmp(name, "mpi://", 6)) /* others are the implementation's */
      printf("%s: %s\n", name, there ? size : "?");
    MPI_Info_free(&about);
  }
  MPI_Session_finalize(&session);
}

/* mpirun -n 2 prints, in some order:
   mpi://WORLD: 2
   mpi://SELF: 1
   mpi://WORLD: 2
   mpi://SELF: 1 */
