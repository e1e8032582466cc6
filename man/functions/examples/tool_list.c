/* SPDX-License-Identifier: BSD-3-Clause */
/* Which control variables there are, and what one of them is for. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  int provided, n, verbosity, bind, scope, found = 0;
  char name[100], text[1000];
  MPI_Datatype type;
  MPI_T_enum values;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_T_cvar_get_num(&n);
  for (int i = 0; i < n; i++) {
    int name_length = sizeof name, text_length = sizeof text;
    MPI_T_cvar_get_info(i, name, &name_length, &verbosity, &type, &values,
                        text, &text_length, &bind, &scope);
    if (strcmp(name, "progress.thread") == 0) found = text_length > 1;
  }
  printf("there are more than ten: %s\n", n > 10 ? "yes" : "no");
  printf("progress.thread is described: %s\n", found ? "yes" : "no");
  MPI_T_finalize();
}

/* mpirun -n 1 prints, in some order:
   there are more than ten: yes
   progress.thread is described: yes */
