// SPDX-License-Identifier: BSD-3-Clause
// Persistent collectives (the standard, section 6.13). Each has a communicator of its own, which
// its initialisation makes: so the ranks may start several in any order, and between other
// collectives.
#include <memory>

#include "mpi/coll/api_collective.hpp"
#include "mpi/coll/collective_arguments.hpp"
#include "mpi/coll/collective_signature.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/request/persistent.hpp"

namespace tutti::mpi {
namespace {

using coll::Collective;

Error init(const Arguments& given, Comm& comm, MPI_Request* request) {
  Result<Prepared> made = prepared(given, comm);
  if (!made) return std::move(made).error();
  if (comm.hidden.ledger) sign(made->call, made->op, comm);
  Result<Ref<Comm>> own =
      make_duplicate(comm, contract::in_form(made->call.signature, contract::Form::persistent));
  if (!own) return std::move(own).error();
  // Arrays stay where they are; what the call refers to is kept.
  auto kept = std::make_shared<const Prepared>(*std::move(made));
  auto* started =
      new PersistentRequest(comm, [own = *std::move(own), kept, given](MPI_Request* operation) {
        return start_again(given, *own, operation)
                   ? Error()
                   : start_prepared(given, Prepared(*kept), *own, operation);
      });
  *request = inventory::hand_out<Request>(*started);
  return {};
}

}  // namespace

Error barrier_init(Comm& comm, Info*, MPI_Request* request) {
  return init(barrier_of(), comm, request);
}
Error bcast_init(void* buffer, int64_t count, Datatype& type, int root, Comm& comm, Info*,
                 MPI_Request* request) {
  return init(bcast_of(buffer, count, type, root), comm, request);
}
Error gather_init(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                  int64_t recvcount, const Datatype* recvtype, int root, Comm& comm, Info*,
                  MPI_Request* request) {
  return init(blocks_of(Collective::gather, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                        recvtype, root),
              comm, request);
}
Error gatherv_init(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                   Ints recvcounts, Ints displs, const Datatype* recvtype, int root, Comm& comm,
                   Info*, MPI_Request* request) {
  return init(gatherv_of(Collective::gatherv, sendbuf, sendcount, sendtype, recvbuf, recvcounts,
                         displs, recvtype, root),
              comm, request);
}
Error scatter_init(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                   int64_t recvcount, const Datatype* recvtype, int root, Comm& comm, Info*,
                   MPI_Request* request) {
  return init(blocks_of(Collective::scatter, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                        recvtype, root),
              comm, request);
}
Error scatterv_init(const void* sendbuf, Ints sendcounts, Ints displs, const Datatype* sendtype,
                    void* recvbuf, int64_t recvcount, const Datatype* recvtype, int root,
                    Comm& comm, Info*, MPI_Request* request) {
  return init(
      scatterv_of(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root), comm,
      request);
}
Error allgather_init(const void* sendbuf, int64_t sendcount, const Datatype* sendtype,
                     void* recvbuf, int64_t recvcount, Datatype& recvtype, Comm& comm, Info*,
                     MPI_Request* request) {
  return init(
      blocks_of(Collective::allgather, sendbuf, sendcount, sendtype, recvbuf, recvcount, &recvtype),
      comm, request);
}
Error allgatherv_init(const void* sendbuf, int64_t sendcount, const Datatype* sendtype,
                      void* recvbuf, Ints recvcounts, Ints displs, Datatype& recvtype, Comm& comm,
                      Info*, MPI_Request* request) {
  return init(gatherv_of(Collective::allgatherv, sendbuf, sendcount, sendtype, recvbuf, recvcounts,
                         displs, &recvtype),
              comm, request);
}
Error alltoall_init(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                    int64_t recvcount, Datatype& recvtype, Comm& comm, Info*,
                    MPI_Request* request) {
  return init(
      blocks_of(Collective::alltoall, sendbuf, sendcount, sendtype, recvbuf, recvcount, &recvtype),
      comm, request);
}
Error alltoallv_init(const void* sendbuf, Ints sendcounts, Ints sdispls, const Datatype* sendtype,
                     void* recvbuf, Ints recvcounts, Ints rdispls, Datatype& recvtype, Comm& comm,
                     Info*, MPI_Request* request) {
  return init(
      alltoallv_of(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype),
      comm, request);
}
Error alltoallw_init(const void* sendbuf, Ints sendcounts, Ints sdispls,
                     const MPI_Datatype* sendtypes, void* recvbuf, Ints recvcounts, Ints rdispls,
                     const MPI_Datatype* recvtypes, Comm& comm, Info*, MPI_Request* request) {
  return init(alltoallw_of(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,
                           recvtypes),
              comm, request);
}
Error reduce_init(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op,
                  int root, Comm& comm, Info*, MPI_Request* request) {
  return init(reduction_of(Collective::reduce, sendbuf, recvbuf, count, type, op, root), comm,
              request);
}
Error allreduce_init(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op,
                     Comm& comm, Info*, MPI_Request* request) {
  return init(reduction_of(Collective::allreduce, sendbuf, recvbuf, count, type, op), comm,
              request);
}
Error reduce_scatter_init(const void* sendbuf, void* recvbuf, Ints recvcounts, Datatype& type,
                          Op& op, Comm& comm, Info*, MPI_Request* request) {
  return init(reduce_scatter_of(sendbuf, recvbuf, recvcounts, type, op), comm, request);
}
Error reduce_scatter_block_init(const void* sendbuf, void* recvbuf, int64_t recvcount,
                                Datatype& type, Op& op, Comm& comm, Info*, MPI_Request* request) {
  return init(reduction_of(Collective::reduce_scatter_block, sendbuf, recvbuf, recvcount, type, op),
              comm, request);
}
Error scan_init(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op,
                Comm& comm, Info*, MPI_Request* request) {
  return init(reduction_of(Collective::scan, sendbuf, recvbuf, count, type, op), comm, request);
}
Error exscan_init(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op,
                  Comm& comm, Info*, MPI_Request* request) {
  return init(reduction_of(Collective::exscan, sendbuf, recvbuf, count, type, op), comm, request);
}

}  // namespace tutti::mpi
