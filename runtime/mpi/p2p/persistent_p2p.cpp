// SPDX-License-Identifier: BSD-3-Clause
// Sends and receives with a persistent request (the standard, section 3.9).
#include "mpi/object/inventory.hpp"
#include "mpi/p2p/api_p2p.hpp"
#include "mpi/request/persistent.hpp"

namespace tutti::mpi {
namespace {

template <class Buffer, class Started>
Error make(Started started, Buffer* buf, int64_t count, Datatype& type, int peer, int tag, Comm& comm,
           MPI_Request* request) {
  auto* made =
      new PersistentRequest(comm, [=, held = Ref<Datatype>(&type), in = Ref<Comm>(&comm)](MPI_Request* operation) {
        return started(buf, count, *held, peer, tag, *in, operation);
      });
  *request = inventory::hand_out<Request>(*made);
  return {};
}

}  // namespace

Error send_init(const void* buf, int64_t count, Datatype& type, int dest, int tag, Comm& comm, MPI_Request* request) {
  return make(isend, buf, count, type, dest, tag, comm, request);
}
Error ssend_init(const void* buf, int64_t count, Datatype& type, int dest, int tag, Comm& comm, MPI_Request* request) {
  return make(issend, buf, count, type, dest, tag, comm, request);
}
Error rsend_init(const void* buf, int64_t count, Datatype& type, int dest, int tag, Comm& comm, MPI_Request* request) {
  return make(irsend, buf, count, type, dest, tag, comm, request);
}
Error bsend_init(const void* buf, int64_t count, Datatype& type, int dest, int tag, Comm& comm, MPI_Request* request) {
  return make(ibsend, buf, count, type, dest, tag, comm, request);
}
Error recv_init(void* buf, int64_t count, Datatype& type, int source, int tag, Comm& comm, MPI_Request* request) {
  return make(irecv, buf, count, type, source, tag, comm, request);
}

}  // namespace tutti::mpi
