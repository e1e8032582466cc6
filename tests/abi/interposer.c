/* SPDX-License-Identifier: BSD-3-Clause */
/* A tool as the standard's chapter on profiling means it: counts two functions and calls on. Built as
 * a library to be preloaded, and linked into a program of its own. */
#include <mpi.h>
#include <stdio.h>

static int sends, allreduces;

int MPI_Send(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  ++sends;
  return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

int MPI_Allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  ++allreduces;
  return PMPI_Allreduce(sendbuf, recvbuf, count, datatype, op, comm);
}

int MPI_Finalize(void) {
  printf("tool: %d sends, %d allreduces\n", sends, allreduces);
  return PMPI_Finalize();
}
