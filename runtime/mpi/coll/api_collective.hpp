// SPDX-License-Identifier: BSD-3-Clause
// Collective communication (the standard, chapter 6), blocking and nonblocking. A datatype that a
// rank need not give is a pointer, null where it means nothing.
#pragma once

#include "base/ints.hpp"
#include "mpi/comm/comm.hpp"
#include "mpi/object/info.hpp"
#include "mpi/type/datatype.hpp"
#include "mpi/type/op.hpp"

namespace tutti::mpi {

Error barrier(Comm& comm);
Error bcast(void* buffer, int64_t count, Datatype& type, int root, Comm& comm);
Error gather(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
             int64_t recvcount, const Datatype* recvtype, int root, Comm& comm);
Error gatherv(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
              Ints recvcounts, Ints displs, const Datatype* recvtype, int root, Comm& comm);
Error scatter(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
              int64_t recvcount, const Datatype* recvtype, int root, Comm& comm);
Error scatterv(const void* sendbuf, Ints sendcounts, Ints displs, const Datatype* sendtype,
               void* recvbuf, int64_t recvcount, const Datatype* recvtype, int root, Comm& comm);
Error allgather(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                int64_t recvcount, Datatype& recvtype, Comm& comm);
Error allgatherv(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                 Ints recvcounts, Ints displs, Datatype& recvtype, Comm& comm);
Error alltoall(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
               int64_t recvcount, Datatype& recvtype, Comm& comm);
Error alltoallv(const void* sendbuf, Ints sendcounts, Ints sdispls, const Datatype* sendtype,
                void* recvbuf, Ints recvcounts, Ints rdispls, Datatype& recvtype, Comm& comm);
Error alltoallw(const void* sendbuf, Ints sendcounts, Ints sdispls, const MPI_Datatype* sendtypes,
                void* recvbuf, Ints recvcounts, Ints rdispls, const MPI_Datatype* recvtypes,
                Comm& comm);
Error reduce(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op, int root,
             Comm& comm);
Error allreduce(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op,
                Comm& comm);
Error reduce_scatter(const void* sendbuf, void* recvbuf, Ints recvcounts, Datatype& type, Op& op,
                     Comm& comm);
Error reduce_scatter_block(const void* sendbuf, void* recvbuf, int64_t recvcount, Datatype& type,
                           Op& op, Comm& comm);
Error scan(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op, Comm& comm);
Error exscan(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op, Comm& comm);

Error ibarrier(Comm& comm, MPI_Request* request);
Error ibcast(void* buffer, int64_t count, Datatype& type, int root, Comm& comm,
             MPI_Request* request);
Error igather(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
              int64_t recvcount, const Datatype* recvtype, int root, Comm& comm,
              MPI_Request* request);
Error igatherv(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
               Ints recvcounts, Ints displs, const Datatype* recvtype, int root, Comm& comm,
               MPI_Request* request);
Error iscatter(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
               int64_t recvcount, const Datatype* recvtype, int root, Comm& comm,
               MPI_Request* request);
Error iscatterv(const void* sendbuf, Ints sendcounts, Ints displs, const Datatype* sendtype,
                void* recvbuf, int64_t recvcount, const Datatype* recvtype, int root, Comm& comm,
                MPI_Request* request);
Error iallgather(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                 int64_t recvcount, Datatype& recvtype, Comm& comm, MPI_Request* request);
Error iallgatherv(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                  Ints recvcounts, Ints displs, Datatype& recvtype, Comm& comm,
                  MPI_Request* request);
Error ialltoall(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                int64_t recvcount, Datatype& recvtype, Comm& comm, MPI_Request* request);
Error ialltoallv(const void* sendbuf, Ints sendcounts, Ints sdispls, const Datatype* sendtype,
                 void* recvbuf, Ints recvcounts, Ints rdispls, Datatype& recvtype, Comm& comm,
                 MPI_Request* request);
Error ialltoallw(const void* sendbuf, Ints sendcounts, Ints sdispls, const MPI_Datatype* sendtypes,
                 void* recvbuf, Ints recvcounts, Ints rdispls, const MPI_Datatype* recvtypes,
                 Comm& comm, MPI_Request* request);
Error ireduce(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op, int root,
              Comm& comm, MPI_Request* request);
Error iallreduce(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op,
                 Comm& comm, MPI_Request* request);
Error ireduce_scatter(const void* sendbuf, void* recvbuf, Ints recvcounts, Datatype& type, Op& op,
                      Comm& comm, MPI_Request* request);
Error ireduce_scatter_block(const void* sendbuf, void* recvbuf, int64_t recvcount, Datatype& type,
                            Op& op, Comm& comm, MPI_Request* request);
Error iscan(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op, Comm& comm,
            MPI_Request* request);
Error iexscan(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op, Comm& comm,
              MPI_Request* request);

// Persistent: an inactive request, which MPI_Start starts. Collective, and ordered among all
// collective calls on the communicator; the starts are ordered among nothing. No info is known.
Error barrier_init(Comm& comm, Info* info, MPI_Request* request);
Error bcast_init(void* buffer, int64_t count, Datatype& type, int root, Comm& comm, Info* info,
                 MPI_Request* request);
Error gather_init(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                  int64_t recvcount, const Datatype* recvtype, int root, Comm& comm, Info* info,
                  MPI_Request* request);
Error gatherv_init(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                   Ints recvcounts, Ints displs, const Datatype* recvtype, int root, Comm& comm,
                   Info* info, MPI_Request* request);
Error scatter_init(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                   int64_t recvcount, const Datatype* recvtype, int root, Comm& comm, Info* info,
                   MPI_Request* request);
Error scatterv_init(const void* sendbuf, Ints sendcounts, Ints displs, const Datatype* sendtype,
                    void* recvbuf, int64_t recvcount, const Datatype* recvtype, int root,
                    Comm& comm, Info* info, MPI_Request* request);
Error allgather_init(const void* sendbuf, int64_t sendcount, const Datatype* sendtype,
                     void* recvbuf, int64_t recvcount, Datatype& recvtype, Comm& comm, Info* info,
                     MPI_Request* request);
Error allgatherv_init(const void* sendbuf, int64_t sendcount, const Datatype* sendtype,
                      void* recvbuf, Ints recvcounts, Ints displs, Datatype& recvtype, Comm& comm,
                      Info* info, MPI_Request* request);
Error alltoall_init(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                    int64_t recvcount, Datatype& recvtype, Comm& comm, Info* info,
                    MPI_Request* request);
Error alltoallv_init(const void* sendbuf, Ints sendcounts, Ints sdispls, const Datatype* sendtype,
                     void* recvbuf, Ints recvcounts, Ints rdispls, Datatype& recvtype, Comm& comm,
                     Info* info, MPI_Request* request);
Error alltoallw_init(const void* sendbuf, Ints sendcounts, Ints sdispls,
                     const MPI_Datatype* sendtypes, void* recvbuf, Ints recvcounts, Ints rdispls,
                     const MPI_Datatype* recvtypes, Comm& comm, Info* info, MPI_Request* request);
Error reduce_init(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op,
                  int root, Comm& comm, Info* info, MPI_Request* request);
Error allreduce_init(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op,
                     Comm& comm, Info* info, MPI_Request* request);
Error reduce_scatter_init(const void* sendbuf, void* recvbuf, Ints recvcounts, Datatype& type,
                          Op& op, Comm& comm, Info* info, MPI_Request* request);
Error reduce_scatter_block_init(const void* sendbuf, void* recvbuf, int64_t recvcount,
                                Datatype& type, Op& op, Comm& comm, Info* info,
                                MPI_Request* request);
Error scan_init(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op,
                Comm& comm, Info* info, MPI_Request* request);
Error exscan_init(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op,
                  Comm& comm, Info* info, MPI_Request* request);

}  // namespace tutti::mpi
