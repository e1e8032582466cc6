/* SPDX-License-Identifier: BSD-3-Clause */
/* How many collective calls a part of the program makes. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int provided, index, count, rank;
  unsigned long calls;
  MPI_T_pvar_session session;
  MPI_T_pvar_handle handle;
  MPI_Init(NULL, NULL);
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_T_pvar_session_create(&session);
  MPI_T_pvar_get_index("collectives.started", MPI_T_PVAR_CLASS_COUNTER,
                       &index);
  MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count);
  MPI_T_pvar_start(session, handle);
  for (int i = 0; i < 5; i++) MPI_Barrier(MPI_COMM_WORLD);
  MPI_T_pvar_stop(session, handle);
  MPI_T_pvar_read(session, handle, &calls);
  if (rank == 0) printf("%lu collective calls\n", calls);
  MPI_T_pvar_session_free(&session);
  MPI_T_finalize();
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   5 collective calls */
