/* SPDX-License-Identifier: BSD-3-Clause */
/* A window whose user promises that all displacements count the same, and what the window says of it. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, there, length = 8;
  char value[8] = "";
  double *mine;
  MPI_Info promises, kept;
  MPI_Win win;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Info_create(&promises);
  MPI_Info_set(promises, "same_disp_unit", "true");
  MPI_Win_allocate(sizeof *mine, sizeof *mine, promises, MPI_COMM_WORLD,
                   &mine, &win);
  MPI_Info_free(&promises);
  MPI_Win_get_info(win, &kept);
  MPI_Info_get_string(kept, "same_disp_unit", &length, value, &there);
  if (rank == 0)
    printf("one unit for all: %s\n", there ? value : "not known");
  MPI_Info_free(&kept);
  MPI_Win_free(&win);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   one unit for all: true */
