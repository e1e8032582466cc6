/* SPDX-License-Identifier: BSD-3-Clause */
/* The status of a receive that was made in Fortran, read in C; here C plays the Fortran part. */
#include <mpi.h>
#include <stdio.h>

/* As `call look(status)` of Fortran comes, with `integer status(MPI_STATUS_SIZE)`. */
static void look_(const MPI_Fint *status_of_fortran) {
  int count;
  MPI_Status status;
  MPI_Status_f2c(status_of_fortran, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  printf("%d numbers from rank %d\n", count, status.MPI_SOURCE);
}

int main(void) {
  int rank, numbers[3] = {0};
  MPI_Status status;
  MPI_Fint of_fortran[MPI_F_STATUS_SIZE];
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1) {
    MPI_Send(numbers, 3, MPI_INT, 0, 0, MPI_COMM_WORLD);
  } else if (rank == 0) {
    MPI_Recv(numbers, 3, MPI_INT, 1, 0, MPI_COMM_WORLD, &status);
    MPI_Status_c2f(&status, of_fortran);
    look_(of_fortran);
  }
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   3 numbers from rank 1 */
