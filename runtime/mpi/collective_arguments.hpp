// SPDX-License-Identifier: BSD-3-Clause
// The arguments of the collectives, from what the entry points have checked one by one to a call: what
// must fit together, and what is significant on this rank. Nothing is signed or started yet.
#pragma once

#include "mpi/collective.hpp"

namespace tutti::mpi {

Result<Prepared> barrier_call(Comm&);
Result<Prepared> bcast_call(void* buffer, int64_t count, const Datatype& type, int root, Comm&);
Result<Prepared> gather_call(const void* sendbuf, int64_t sendcount, const Datatype* sendtype,
                             void* recvbuf, int64_t recvcount, const Datatype* recvtype, int root,
                             Comm& comm);
Result<Prepared> gatherv_call(const void* sendbuf, int64_t sendcount, const Datatype* sendtype,
                              void* recvbuf, Ints recvcounts, Ints displs, const Datatype* recvtype,
                              int root, Comm& comm);
Result<Prepared> scatter_call(const void* sendbuf, int64_t sendcount, const Datatype* sendtype,
                              void* recvbuf, int64_t recvcount, const Datatype* recvtype, int root,
                              Comm& comm);
Result<Prepared> scatterv_call(const void* sendbuf, Ints sendcounts, Ints displs,
                               const Datatype* sendtype, void* recvbuf, int64_t recvcount,
                               const Datatype* recvtype, int root, Comm& comm);
Result<Prepared> allgather_call(const void* sendbuf, int64_t sendcount, const Datatype* sendtype,
                                void* recvbuf, int64_t recvcount, const Datatype& recvtype, Comm&);
Result<Prepared> allgatherv_call(const void* sendbuf, int64_t sendcount, const Datatype* sendtype,
                                 void* recvbuf, Ints recvcounts, Ints displs,
                                 const Datatype& recvtype, Comm& comm);
Result<Prepared> alltoall_call(const void* sendbuf, int64_t sendcount, const Datatype* sendtype,
                               void* recvbuf, int64_t recvcount, const Datatype& recvtype, Comm&);
Result<Prepared> alltoallv_call(const void* sendbuf, Ints sendcounts, Ints sdispls,
                                const Datatype* sendtype, void* recvbuf, Ints recvcounts,
                                Ints rdispls, const Datatype& recvtype, Comm& comm);
Result<Prepared> alltoallw_call(const void* sendbuf, Ints sendcounts, Ints sdispls,
                                const MPI_Datatype* sendtypes, void* recvbuf, Ints recvcounts,
                                Ints rdispls, const MPI_Datatype* recvtypes, Comm& comm);
Result<Prepared> reduce_call(const void* sendbuf, void* recvbuf, int64_t count,
                             const Datatype& type, const Op& op, int root, Comm& comm);
Result<Prepared> allreduce_call(const void* sendbuf, void* recvbuf, int64_t count,
                                const Datatype& type, const Op& op, Comm&);
Result<Prepared> reduce_scatter_call(const void* sendbuf, void* recvbuf, Ints recvcounts,
                                     const Datatype& type, const Op& op, Comm& comm);
Result<Prepared> reduce_scatter_block_call(const void* sendbuf, void* recvbuf, int64_t recvcount,
                                           const Datatype& type, const Op& op, Comm&);
Result<Prepared> scan_call(const void* sendbuf, void* recvbuf, int64_t count, const Datatype& type,
                           const Op& op, Comm&);
Result<Prepared> exscan_call(const void* sendbuf, void* recvbuf, int64_t count,
                             const Datatype& type, const Op& op, Comm&);

}  // namespace tutti::mpi
