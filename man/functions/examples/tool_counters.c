/* SPDX-License-Identifier: BSD-3-Clause */
/* What kind of number a performance variable is: of a counter the program takes the difference of two readings. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  int provided, n, verbosity, class, bind, readonly, continuous, atomic;
  char name[100];
  MPI_Datatype type;
  MPI_T_enum values;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_T_pvar_get_num(&n);
  for (int i = 0; i < n; i++) {
    int length = sizeof name;
    MPI_T_pvar_get_info(i, name, &length, &verbosity, &class, &type,
                        &values, NULL, NULL, &bind, &readonly, &continuous,
                        &atomic);
    if (strcmp(name, "messages.sent") == 0)
      printf("%s is a %s\n", name,
             class == MPI_T_PVAR_CLASS_COUNTER ? "counter"
                                               : "number of another kind");
  }
  MPI_T_finalize();
}

/* mpirun -n 1 prints, in some order:
   messages.sent is a counter */
