// SPDX-License-Identifier: BSD-3-Clause
// Point-to-point communication (the standard, chapter 3). Arguments are checked by the entry
// points; MPI_PROC_NULL and the buffers of buffered sends are dealt with here.
#pragma once

#include "mpi/comm/comm.hpp"
#include "mpi/type/datatype.hpp"

namespace tutti::mpi {

Error send(const void* buf, int64_t count, Datatype& type, int dest, int tag, Comm& comm);
Error ssend(const void* buf, int64_t count, Datatype& type, int dest, int tag, Comm& comm);
Error rsend(const void* buf, int64_t count, Datatype& type, int dest, int tag, Comm& comm);
Error bsend(const void* buf, int64_t count, Datatype& type, int dest, int tag, Comm& comm);
Error recv(void* buf, int64_t count, Datatype& type, int source, int tag, Comm& comm, MPI_Status* status);

Error isend(const void* buf, int64_t count, Datatype& type, int dest, int tag, Comm& comm, MPI_Request* request);
Error issend(const void* buf, int64_t count, Datatype& type, int dest, int tag, Comm& comm, MPI_Request* request);
Error irsend(const void* buf, int64_t count, Datatype& type, int dest, int tag, Comm& comm, MPI_Request* request);
Error ibsend(const void* buf, int64_t count, Datatype& type, int dest, int tag, Comm& comm, MPI_Request* request);
Error irecv(void* buf, int64_t count, Datatype& type, int source, int tag, Comm& comm, MPI_Request* request);

// Inactive requests, which MPI_Start starts (section 3.9).
Error send_init(const void* buf, int64_t count, Datatype& type, int dest, int tag, Comm& comm, MPI_Request* request);
Error ssend_init(const void* buf, int64_t count, Datatype& type, int dest, int tag, Comm& comm, MPI_Request* request);
Error rsend_init(const void* buf, int64_t count, Datatype& type, int dest, int tag, Comm& comm, MPI_Request* request);
Error bsend_init(const void* buf, int64_t count, Datatype& type, int dest, int tag, Comm& comm, MPI_Request* request);
Error recv_init(void* buf, int64_t count, Datatype& type, int source, int tag, Comm& comm, MPI_Request* request);

Error sendrecv(const void* sendbuf, int64_t sendcount, Datatype& sendtype, int dest, int sendtag, void* recvbuf,
               int64_t recvcount, Datatype& recvtype, int source, int recvtag, Comm& comm, MPI_Status* status);
Error sendrecv_replace(void* buf, int64_t count, Datatype& type, int dest, int sendtag, int source, int recvtag,
                       Comm& comm, MPI_Status* status);
Error isendrecv(const void* sendbuf, int64_t sendcount, Datatype& sendtype, int dest, int sendtag, void* recvbuf,
                int64_t recvcount, Datatype& recvtype, int source, int recvtag, Comm& comm, MPI_Request* request);
Error isendrecv_replace(void* buf, int64_t count, Datatype& type, int dest, int sendtag, int source, int recvtag,
                        Comm& comm, MPI_Request* request);

Error probe(int source, int tag, Comm& comm, MPI_Status* status);
Error iprobe(int source, int tag, Comm& comm, int* flag, MPI_Status* status);
Error mprobe(int source, int tag, Comm& comm, MPI_Message* message, MPI_Status* status);
Error improbe(int source, int tag, Comm& comm, int* flag, MPI_Message* message, MPI_Status* status);
Error mrecv(void* buf, int64_t count, Datatype& type, MPI_Message* message, MPI_Status* status);
Error imrecv(void* buf, int64_t count, Datatype& type, MPI_Message* message, MPI_Request* request);

}  // namespace tutti::mpi
