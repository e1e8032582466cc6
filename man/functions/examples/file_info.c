/* SPDX-License-Identifier: BSD-3-Clause */
/* Hints for a file that all ranks write with small pieces, and which of them are in use. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, there, length = 20, mode;
  char value[20];
  MPI_File file;
  MPI_Info hints, used;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Info_create(&hints);
  MPI_Info_set(hints, "cb_nodes",
               "1"); /* how many processes write for all */
  MPI_File_open(
      MPI_COMM_WORLD, "file_info.dat",
      MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE, hints,
      &file);
  MPI_Info_free(&hints);
  MPI_File_get_info(file, &used);
  MPI_Info_get_string(used, "cb_nodes", &length, value, &there);
  MPI_File_get_amode(file, &mode);
  if (rank == 0)
    printf("cb_nodes: %s; may be read: %s\n", there ? value : "not known",
           mode & MPI_MODE_WRONLY ? "no" : "yes");
  MPI_Info_free(&used);
  MPI_File_close(&file);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   cb_nodes: 1; may be read: no */
