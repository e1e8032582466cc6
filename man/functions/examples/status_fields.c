/* SPDX-License-Identifier: BSD-3-Clause */
/* From whom a message came and with which tag, asked by functions as another language has to. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, number = 0, source, tag;
  MPI_Status status;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1) {
    MPI_Send(&number, 1, MPI_INT, 0, 17, MPI_COMM_WORLD);
  } else if (rank == 0) {
    MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
             MPI_COMM_WORLD, &status);
    MPI_Status_get_source(&status, &source);
    MPI_Status_get_tag(&status, &tag);
    printf("from rank %d with tag %d\n", source, tag);
  }
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   from rank 1 with tag 17 */
