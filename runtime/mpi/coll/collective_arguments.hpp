// SPDX-License-Identifier: BSD-3-Clause
// The arguments of the collectives, from what the entry points have checked one by one to a call:
// what must fit together, and what is significant on this rank. Nothing is signed or started yet.
#pragma once

#include "mpi/coll/arguments.hpp"
#include "mpi/coll/collective.hpp"

namespace tutti::mpi {

// The call that they make. Errors: what does not fit together, by the standard's classes.
Result<Prepared> prepared(const Arguments& given, Comm& comm);

// ---- by function of the standard, for its blocking, nonblocking and persistent forms alike

inline Arguments barrier_of() {
  return {};
}
inline Arguments bcast_of(void* buffer, int64_t count, const Datatype& type, int root) {
  return {.kind = coll::Collective::bcast,
          .root = root,
          .recvbuf = buffer,
          .recvcount = count,
          .recvtype = &type};
}
// gather, scatter, allgather and alltoall.
inline Arguments blocks_of(coll::Collective kind, const void* sendbuf, int64_t sendcount,
                           const Datatype* sendtype, void* recvbuf, int64_t recvcount,
                           const Datatype* recvtype, int root = 0) {
  return {.kind = kind,
          .root = root,
          .sendbuf = sendbuf,
          .recvbuf = recvbuf,
          .sendcount = sendcount,
          .recvcount = recvcount,
          .sendtype = sendtype,
          .recvtype = recvtype};
}
// gatherv and allgatherv.
inline Arguments gatherv_of(coll::Collective kind, const void* sendbuf, int64_t sendcount,
                            const Datatype* sendtype, void* recvbuf, Ints recvcounts, Ints displs,
                            const Datatype* recvtype, int root = 0) {
  return {.kind = kind,
          .root = root,
          .sendbuf = sendbuf,
          .recvbuf = recvbuf,
          .sendcount = sendcount,
          .sendtype = sendtype,
          .recvtype = recvtype,
          .recvcounts = recvcounts,
          .rdispls = displs};
}
inline Arguments scatterv_of(const void* sendbuf, Ints sendcounts, Ints displs,
                             const Datatype* sendtype, void* recvbuf, int64_t recvcount,
                             const Datatype* recvtype, int root) {
  return {.kind = coll::Collective::scatterv,
          .root = root,
          .sendbuf = sendbuf,
          .recvbuf = recvbuf,
          .recvcount = recvcount,
          .sendtype = sendtype,
          .recvtype = recvtype,
          .sendcounts = sendcounts,
          .sdispls = displs};
}
inline Arguments alltoallv_of(const void* sendbuf, Ints sendcounts, Ints sdispls,
                              const Datatype* sendtype, void* recvbuf, Ints recvcounts,
                              Ints rdispls, const Datatype& recvtype) {
  return {.kind = coll::Collective::alltoallv,
          .sendbuf = sendbuf,
          .recvbuf = recvbuf,
          .sendtype = sendtype,
          .recvtype = &recvtype,
          .sendcounts = sendcounts,
          .sdispls = sdispls,
          .recvcounts = recvcounts,
          .rdispls = rdispls};
}
inline Arguments alltoallw_of(const void* sendbuf, Ints sendcounts, Ints sdispls,
                              const MPI_Datatype* sendtypes, void* recvbuf, Ints recvcounts,
                              Ints rdispls, const MPI_Datatype* recvtypes) {
  return {.kind = coll::Collective::alltoallw,
          .sendbuf = sendbuf,
          .recvbuf = recvbuf,
          .sendcounts = sendcounts,
          .sdispls = sdispls,
          .recvcounts = recvcounts,
          .rdispls = rdispls,
          .sendtypes = sendtypes,
          .recvtypes = recvtypes};
}
// reduce, allreduce, reduce_scatter_block, scan and exscan.
inline Arguments reduction_of(coll::Collective kind, const void* sendbuf, void* recvbuf,
                              int64_t count, const Datatype& type, const Op& op, int root = 0) {
  return {.kind = kind,
          .root = root,
          .sendbuf = sendbuf,
          .recvbuf = recvbuf,
          .recvcount = count,
          .recvtype = &type,
          .op = &op};
}
inline Arguments reduce_scatter_of(const void* sendbuf, void* recvbuf, Ints recvcounts,
                                   const Datatype& type, const Op& op) {
  return {.kind = coll::Collective::reduce_scatter,
          .sendbuf = sendbuf,
          .recvbuf = recvbuf,
          .recvtype = &type,
          .recvcounts = recvcounts,
          .op = &op};
}

}  // namespace tutti::mpi
