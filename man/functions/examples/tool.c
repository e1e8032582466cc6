/* SPDX-License-Identifier: BSD-3-Clause */
/* A setting of Tutti, read as a control variable. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int provided, index, count, on, rank;
  MPI_T_cvar_handle handle;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (MPI_T_cvar_get_index("progress.thread", &index) == MPI_SUCCESS) {
    MPI_T_cvar_handle_alloc(index, NULL, &handle, &count);
    MPI_T_cvar_read(handle, &on);
    if (rank == 0)
      printf("a thread makes progress while the program computes: %s\n",
             on ? "yes" : "no");
    MPI_T_cvar_handle_free(&handle);
  }
  MPI_Finalize();
  MPI_T_finalize();
}

/* mpirun -n 2 prints, in some order:
   a thread makes progress while the program computes: yes */
