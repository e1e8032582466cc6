/* SPDX-License-Identifier: BSD-3-Clause */
/* What a datatype was made of: a library looks whether it is a vector, for which it has a faster way. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int integers, addresses, types, made_by, values[3];
  MPI_Datatype given, of;
  MPI_Init(NULL, NULL);
  MPI_Type_vector(10, 2, 7, MPI_FLOAT, &given);
  MPI_Type_get_envelope(given, &integers, &addresses, &types, &made_by);
  if (made_by == MPI_COMBINER_VECTOR) {
    MPI_Type_get_contents(given, integers, addresses, types, values, NULL,
                          &of);
    printf("%d blocks of %d, one every %d\n", values[0], values[1],
           values[2]);
    printf(
        "of floats: %s\n",
        of == MPI_FLOAT ? "yes" : "no"); /* no copy, and not to be freed */
  }
  MPI_Type_free(&given);
  MPI_Finalize();
}

/* mpirun -n 1 prints, in some order:
   10 blocks of 2, one every 7
   of floats: yes */
