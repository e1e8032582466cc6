/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers in a form that each machine and each MPI can read: for a file, or another language. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int number = 258, again;
  unsigned char bytes[16];
  MPI_Aint size, position = 0;
  MPI_Init(NULL, NULL);
  MPI_Pack_external_size("external32", 1, MPI_INT, &size);
  MPI_Pack_external("external32", &number, 1, MPI_INT, bytes, sizeof bytes,
                    &position);
  printf("%d bytes: %d %d %d %d\n", (int)size, bytes[0], bytes[1], bytes[2],
         bytes[3]);
  position = 0;
  MPI_Unpack_external("external32", bytes, size, &position, &again, 1,
                      MPI_INT);
  printf("again %d\n", again);
  MPI_Finalize();
}

/* mpirun -n 1 prints, in some order:
   4 bytes: 0 0 1 2
   again 258 */
