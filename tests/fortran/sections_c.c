/* SPDX-License-Identifier: BSD-3-Clause */
/* C completes a request of Fortran's. */
#include <mpi.h>

void c_waits(MPI_Fint *request) {
  MPI_Request own = MPI_Request_f2c(*request);
  MPI_Wait(&own, MPI_STATUS_IGNORE);
  *request = MPI_Request_c2f(own);
}
