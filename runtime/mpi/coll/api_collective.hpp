// SPDX-License-Identifier: BSD-3-Clause
// Collective communication (the standard, chapter 6). Of each collective one function says which
// arguments it has; the generator makes its three public forms and their large-count twins of it
// (lib/entries.py), which hand them to run(), start() or make_persistent(). A datatype that a rank need not give is a pointer, null where it means nothing.
#pragma once

#include "base/ints.hpp"
#include "mpi/coll/arguments.hpp"
#include "mpi/comm/comm.hpp"
#include "mpi/object/info.hpp"
#include "mpi/type/datatype.hpp"
#include "mpi/type/op.hpp"

namespace tutti::mpi {

// One block of the same size a rank, on either side.
inline Arguments of_blocks(coll::Collective kind, const void* sendbuf, int64_t sendcount, const Datatype* sendtype,
                           void* recvbuf, int64_t recvcount, const Datatype* recvtype, int root = 0) {
  return {.kind = kind,
          .root = root,
          .sendbuf = sendbuf,
          .recvbuf = recvbuf,
          .sendcount = sendcount,
          .recvcount = recvcount,
          .sendtype = sendtype,
          .recvtype = recvtype};
}
inline Arguments of_reduction(coll::Collective kind, const void* sendbuf, void* recvbuf, int64_t count,
                              const Datatype* type, const Op* op, int root = 0) {
  return {.kind = kind,
          .root = root,
          .sendbuf = sendbuf,
          .recvbuf = recvbuf,
          .recvcount = count,
          .recvtype = type,
          .op = op};
}

// ---- one for each collective of the standard

inline Arguments barrier_of() {
  return {};
}
inline Arguments bcast_of(void* buffer, int64_t count, const Datatype* type, int root) {
  return {.kind = coll::Collective::bcast, .root = root, .recvbuf = buffer, .recvcount = count, .recvtype = type};
}
inline Arguments gather_of(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                           int64_t recvcount, const Datatype* recvtype, int root) {
  return of_blocks(coll::Collective::gather, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root);
}
inline Arguments gatherv_of(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                            Ints recvcounts, Ints displs, const Datatype* recvtype, int root) {
  return {.kind = coll::Collective::gatherv,
          .root = root,
          .sendbuf = sendbuf,
          .recvbuf = recvbuf,
          .sendcount = sendcount,
          .sendtype = sendtype,
          .recvtype = recvtype,
          .recvcounts = recvcounts,
          .rdispls = displs};
}
inline Arguments scatter_of(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                            int64_t recvcount, const Datatype* recvtype, int root) {
  return of_blocks(coll::Collective::scatter, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root);
}
inline Arguments scatterv_of(const void* sendbuf, Ints sendcounts, Ints displs, const Datatype* sendtype, void* recvbuf,
                             int64_t recvcount, const Datatype* recvtype, int root) {
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
inline Arguments allgather_of(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                              int64_t recvcount, const Datatype& recvtype) {
  return of_blocks(coll::Collective::allgather, sendbuf, sendcount, sendtype, recvbuf, recvcount, &recvtype);
}
inline Arguments allgatherv_of(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                               Ints recvcounts, Ints displs, const Datatype& recvtype) {
  return {.kind = coll::Collective::allgatherv,
          .sendbuf = sendbuf,
          .recvbuf = recvbuf,
          .sendcount = sendcount,
          .sendtype = sendtype,
          .recvtype = &recvtype,
          .recvcounts = recvcounts,
          .rdispls = displs};
}
inline Arguments alltoall_of(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                             int64_t recvcount, const Datatype& recvtype) {
  return of_blocks(coll::Collective::alltoall, sendbuf, sendcount, sendtype, recvbuf, recvcount, &recvtype);
}
inline Arguments alltoallv_of(const void* sendbuf, Ints sendcounts, Ints sdispls, const Datatype* sendtype,
                              void* recvbuf, Ints recvcounts, Ints rdispls, const Datatype& recvtype) {
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
inline Arguments alltoallw_of(const void* sendbuf, Ints sendcounts, Ints sdispls, const MPI_Datatype* sendtypes,
                              void* recvbuf, Ints recvcounts, Ints rdispls, const MPI_Datatype* recvtypes) {
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
inline Arguments reduce_of(const void* sendbuf, void* recvbuf, int64_t count, const Datatype* type, const Op* op,
                           int root) {
  return of_reduction(coll::Collective::reduce, sendbuf, recvbuf, count, type, op, root);
}
inline Arguments allreduce_of(const void* sendbuf, void* recvbuf, int64_t count, const Datatype& type, const Op& op) {
  return of_reduction(coll::Collective::allreduce, sendbuf, recvbuf, count, &type, &op);
}
inline Arguments reduce_scatter_of(const void* sendbuf, void* recvbuf, Ints recvcounts, const Datatype& type,
                                   const Op& op) {
  return {.kind = coll::Collective::reduce_scatter,
          .sendbuf = sendbuf,
          .recvbuf = recvbuf,
          .recvtype = &type,
          .recvcounts = recvcounts,
          .op = &op};
}
inline Arguments reduce_scatter_block_of(const void* sendbuf, void* recvbuf, int64_t recvcount, const Datatype& type,
                                         const Op& op) {
  return of_reduction(coll::Collective::reduce_scatter_block, sendbuf, recvbuf, recvcount, &type, &op);
}
inline Arguments scan_of(const void* sendbuf, void* recvbuf, int64_t count, const Datatype& type, const Op& op) {
  return of_reduction(coll::Collective::scan, sendbuf, recvbuf, count, &type, &op);
}
inline Arguments exscan_of(const void* sendbuf, void* recvbuf, int64_t count, const Datatype& type, const Op& op) {
  return of_reduction(coll::Collective::exscan, sendbuf, recvbuf, count, &type, &op);
}

// ---- neighbourhood collectives (section 8.6)

inline Arguments neighbor_allgather_of(const void* sendbuf, int64_t sendcount, const Datatype& sendtype, void* recvbuf,
                                       int64_t recvcount, const Datatype& recvtype) {
  return of_blocks(coll::Collective::neighbor_allgather, sendbuf, sendcount, &sendtype, recvbuf, recvcount, &recvtype);
}
inline Arguments neighbor_allgatherv_of(const void* sendbuf, int64_t sendcount, const Datatype& sendtype, void* recvbuf,
                                        Ints recvcounts, Ints displs, const Datatype& recvtype) {
  Arguments a = allgatherv_of(sendbuf, sendcount, &sendtype, recvbuf, recvcounts, displs, recvtype);
  a.kind = coll::Collective::neighbor_allgatherv;
  return a;
}
inline Arguments neighbor_alltoall_of(const void* sendbuf, int64_t sendcount, const Datatype& sendtype, void* recvbuf,
                                      int64_t recvcount, const Datatype& recvtype) {
  return of_blocks(coll::Collective::neighbor_alltoall, sendbuf, sendcount, &sendtype, recvbuf, recvcount, &recvtype);
}
inline Arguments neighbor_alltoallv_of(const void* sendbuf, Ints sendcounts, Ints sdispls, const Datatype& sendtype,
                                       void* recvbuf, Ints recvcounts, Ints rdispls, const Datatype& recvtype) {
  Arguments a = alltoallv_of(sendbuf, sendcounts, sdispls, &sendtype, recvbuf, recvcounts, rdispls, recvtype);
  a.kind = coll::Collective::neighbor_alltoallv;
  return a;
}
inline Arguments neighbor_alltoallw_of(const void* sendbuf, Ints sendcounts, Ints sdispls,
                                       const MPI_Datatype* sendtypes, void* recvbuf, Ints recvcounts, Ints rdispls,
                                       const MPI_Datatype* recvtypes) {
  Arguments a = alltoallw_of(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes);
  a.kind = coll::Collective::neighbor_alltoallw;
  return a;
}

}  // namespace tutti::mpi
