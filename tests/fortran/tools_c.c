/* SPDX-License-Identifier: BSD-3-Clause */
/* Tools of tools.f90 in C: one for a C function, one for a procedure of mpi_f08. */
#include <mpi.h>

static int reductions, sends;

int MPI_Allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  reductions++;
  return PMPI_Allreduce(sendbuf, recvbuf, count, type, op, comm);
}

typedef struct CFI_cdesc_t descriptor;
void pmpi_send_f08ts_(descriptor* buf, const MPI_Fint* count, const MPI_Fint* type, const MPI_Fint* dest,
                      const MPI_Fint* tag, const MPI_Fint* comm, MPI_Fint* ierror);
void mpi_send_f08ts_(descriptor* buf, const MPI_Fint* count, const MPI_Fint* type, const MPI_Fint* dest,
                     const MPI_Fint* tag, const MPI_Fint* comm, MPI_Fint* ierror) {
  sends++;
  pmpi_send_f08ts_(buf, count, type, dest, tag, comm, ierror);
}

int reductions_seen(void) {
  return reductions;
}
int sends_seen(void) {
  return sends;
}
