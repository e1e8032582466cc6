/* SPDX-License-Identifier: BSD-3-Clause */
/* A library that is called at any time, as from a destructor: it asks whether MPI may be called. */
#include <mpi.h>
#include <stdio.h>

static void say_how_it_is(void) {
  int begun, ended, level;
  MPI_Initialized(&begun);
  MPI_Finalized(&ended);
  if (!begun || ended) {
    printf("MPI is %s\n", ended ? "over" : "not there yet");
  } else {
    MPI_Query_thread(&level);
    printf("MPI is there, for %s\n",
           level == MPI_THREAD_MULTIPLE ? "all threads" : "some threads");
  }
}

int main(void) {
  int provided;
  say_how_it_is();
  MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
  say_how_it_is();
  MPI_Finalize();
  say_how_it_is();
}

/* mpirun -n 1 prints, in some order:
   MPI is not there yet
   MPI is there, for all threads
   MPI is over */
