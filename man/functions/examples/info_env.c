/* SPDX-License-Identifier: BSD-3-Clause */
/* How the program was started, asked before MPI_Init. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
  int there, length;
  char command[1000];
  MPI_Info started;
  MPI_Info_create_env(argc, argv, &started);
  length = sizeof command;
  MPI_Info_get_string(started, "command", &length, command, &there);
  if (there) {
    const char *slash = strrchr(command, '/');
    printf("the program is %s\n", slash ? slash + 1 : command);
  }
  MPI_Info_free(&started);
  MPI_Init(&argc, &argv);
  MPI_Finalize();
}

/* mpirun -n 1 prints, in some order:
   the program is info_env */
