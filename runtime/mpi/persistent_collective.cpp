// SPDX-License-Identifier: BSD-3-Clause
// Persistent collectives (the standard, section 6.13). Each has a communicator of its own, which
// its initialisation makes: so the ranks may start several in any order, and between other
// collectives.
#include <memory>

#include "mpi/api_collective.hpp"
#include "mpi/collective_arguments.hpp"
#include "mpi/collective_signature.hpp"
#include "mpi/inventory.hpp"
#include "mpi/persistent.hpp"

namespace tutti::mpi {
namespace {

Error init(Result<Prepared> prepared, Comm& comm, MPI_Request* request) {
  if (!prepared) return std::move(prepared).error();
  if (comm.hidden.ledger) sign(prepared->call, prepared->op, comm);
  Result<Ref<Comm>> own =
      make_duplicate(comm, contract::in_form(prepared->call.signature, contract::Form::persistent));
  if (!own) return std::move(own).error();
  auto kept = std::make_shared<const Prepared>(*std::move(prepared));  // arrays stay where they are
  auto* made = new PersistentRequest(comm, [own = *std::move(own), kept](MPI_Request* operation) {
    return start_checked(Prepared(*kept), *own, operation);
  });
  *request = inventory::hand_out<Request>(*made);
  return {};
}

}  // namespace

Error barrier_init(Comm& comm, Info*, MPI_Request* request) {
  return init(barrier_call(comm), comm, request);
}
Error bcast_init(void* buffer, int64_t count, Datatype& type, int root, Comm& comm, Info*,
                 MPI_Request* request) {
  return init(bcast_call(buffer, count, type, root, comm), comm, request);
}
Error gather_init(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                  int64_t recvcount, const Datatype* recvtype, int root, Comm& comm, Info*,
                  MPI_Request* request) {
  return init(gather_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm),
              comm, request);
}
Error gatherv_init(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                   Ints recvcounts, Ints displs, const Datatype* recvtype, int root, Comm& comm,
                   Info*, MPI_Request* request) {
  return init(
      gatherv_call(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm),
      comm, request);
}
Error scatter_init(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                   int64_t recvcount, const Datatype* recvtype, int root, Comm& comm, Info*,
                   MPI_Request* request) {
  return init(scatter_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm),
              comm, request);
}
Error scatterv_init(const void* sendbuf, Ints sendcounts, Ints displs, const Datatype* sendtype,
                    void* recvbuf, int64_t recvcount, const Datatype* recvtype, int root,
                    Comm& comm, Info*, MPI_Request* request) {
  return init(scatterv_call(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype,
                            root, comm),
              comm, request);
}
Error allgather_init(const void* sendbuf, int64_t sendcount, const Datatype* sendtype,
                     void* recvbuf, int64_t recvcount, Datatype& recvtype, Comm& comm, Info*,
                     MPI_Request* request) {
  return init(allgather_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm),
              comm, request);
}
Error allgatherv_init(const void* sendbuf, int64_t sendcount, const Datatype* sendtype,
                      void* recvbuf, Ints recvcounts, Ints displs, Datatype& recvtype, Comm& comm,
                      Info*, MPI_Request* request) {
  return init(
      allgatherv_call(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm),
      comm, request);
}
Error alltoall_init(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                    int64_t recvcount, Datatype& recvtype, Comm& comm, Info*,
                    MPI_Request* request) {
  return init(alltoall_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm), comm,
              request);
}
Error alltoallv_init(const void* sendbuf, Ints sendcounts, Ints sdispls, const Datatype* sendtype,
                     void* recvbuf, Ints recvcounts, Ints rdispls, Datatype& recvtype, Comm& comm,
                     Info*, MPI_Request* request) {
  return init(alltoallv_call(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                             recvtype, comm),
              comm, request);
}
Error alltoallw_init(const void* sendbuf, Ints sendcounts, Ints sdispls,
                     const MPI_Datatype* sendtypes, void* recvbuf, Ints recvcounts, Ints rdispls,
                     const MPI_Datatype* recvtypes, Comm& comm, Info*, MPI_Request* request) {
  return init(alltoallw_call(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,
                             recvtypes, comm),
              comm, request);
}
Error reduce_init(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op,
                  int root, Comm& comm, Info*, MPI_Request* request) {
  return init(reduce_call(sendbuf, recvbuf, count, type, op, root, comm), comm, request);
}
Error allreduce_init(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op,
                     Comm& comm, Info*, MPI_Request* request) {
  return init(allreduce_call(sendbuf, recvbuf, count, type, op, comm), comm, request);
}
Error reduce_scatter_init(const void* sendbuf, void* recvbuf, Ints recvcounts, Datatype& type,
                          Op& op, Comm& comm, Info*, MPI_Request* request) {
  return init(reduce_scatter_call(sendbuf, recvbuf, recvcounts, type, op, comm), comm, request);
}
Error reduce_scatter_block_init(const void* sendbuf, void* recvbuf, int64_t recvcount,
                                Datatype& type, Op& op, Comm& comm, Info*, MPI_Request* request) {
  return init(reduce_scatter_block_call(sendbuf, recvbuf, recvcount, type, op, comm), comm,
              request);
}
Error scan_init(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op,
                Comm& comm, Info*, MPI_Request* request) {
  return init(scan_call(sendbuf, recvbuf, count, type, op, comm), comm, request);
}
Error exscan_init(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op,
                  Comm& comm, Info*, MPI_Request* request) {
  return init(exscan_call(sendbuf, recvbuf, count, type, op, comm), comm, request);
}

}  // namespace tutti::mpi
