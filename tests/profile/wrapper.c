/* SPDX-License-Identifier: BSD-3-Clause */
/* What a tool in front of the library (PMPI) finds of the program `profiled sums`: prints of each rank how many messages and
 * bytes it has sent, and the seconds that it was in the functions below. */
#include <mpi.h>
#include <stdio.h>

static double seconds;
static long long messages, bytes;

#define TIMED(call)                   \
  const double start_ = PMPI_Wtime(); \
  const int error_ = (call);          \
  seconds += PMPI_Wtime() - start_;   \
  return error_

int MPI_Irecv(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request) {
  TIMED(PMPI_Irecv(buf, count, type, source, tag, comm, request));
}
int MPI_Isend(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request* request) {
  ++messages;
  bytes += count;
  TIMED(PMPI_Isend(buf, count, type, dest, tag, comm, request));
}
int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  TIMED(PMPI_Waitall(count, requests, statuses));
}
int MPI_Sendrecv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf,
                 int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status* status) {
  ++messages;
  bytes += sendcount;
  TIMED(PMPI_Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm,
                      status));
}
int MPI_Barrier(MPI_Comm comm) {
  TIMED(PMPI_Barrier(comm));
}
int MPI_Finalize(void) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  printf("wrapper: rank %d messages %lld bytes %lld seconds %.6f\n", rank, messages, bytes, seconds);
  return PMPI_Finalize();
}
