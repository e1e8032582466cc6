// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/collective_arguments.hpp"

#include "mpi/process.hpp"

namespace tutti::mpi {
namespace {

using coll::Collective;

// ---- arguments. `call` refers to types and operations by plain pointers; `uses` keeps them.

Ref<Object> use(const Object& object) { return Ref<Object>(const_cast<Object*>(&object)); }

void set_in(Prepared& p, const void* buf, int64_t count, const Datatype* type) {
  p.call.in = buf;
  p.call.in_count = count;
  if (!type) return;
  p.call.in_layout = type->layout.get();
  p.call.in_type = type;
  p.uses.add(use(*type));
}

void set_out(Prepared& p, void* buf, int64_t count, const Datatype* type) {
  p.call.out = buf;
  p.call.out_count = count;
  if (!type) return;
  p.call.out_layout = type->layout.get();
  p.call.out_type = type;
  p.uses.add(use(*type));
}

Error not_in_place(const void* buf, const char* argument, const char* where) {
  if (buf != MPI_IN_PLACE) return {};
  return failure(MPI_ERR_BUFFER, "MPI_IN_PLACE is allowed {} only (argument {})", where, argument);
}

// The two buffers of a call must not be one, unless MPI_IN_PLACE says so (section 6.2).
// Other types may have other places from the same address on.
Error not_aliased(const void* in, const void* out, int64_t count, const Datatype* in_type,
                  const Datatype* out_type) {
  if (in != out || in == nullptr || count == 0) return {};
  if (in_type != out_type || !in_type || in_type->layout->size() == 0) return {};
  return failure(MPI_ERR_BUFFER,
                 "the send and the receive buffer are the same: pass MPI_IN_PLACE instead");
}

Error array_given(const Ints& array, const char* argument) {
  if (array) return {};
  return failure(MPI_ERR_ARG, "the array is NULL (argument {})", argument);
}

Error counts_valid(const Ints& counts, int n, const char* argument) {
  if (Error e = array_given(counts, argument)) return e;
  for (int i = 0; i < n; ++i)
    if (counts[i] < 0)
      return failure(MPI_ERR_COUNT, "count {} for rank {} is negative (argument {})", counts[i], i,
                     argument);
  return {};
}

Error resolve_types(const MPI_Datatype* handles, int n, const char* argument, Prepared& p,
                    std::vector<const Layout*>& layouts, std::vector<const void*>& types) {
  if (!handles) return failure(MPI_ERR_ARG, "the array is NULL (argument {})", argument);
  for (int i = 0; i < n; ++i) {
    const Datatype* type = resolve<Datatype>(handles[i]);
    if (!type || !type->committed)
      return failure(MPI_ERR_TYPE, "the datatype for rank {} is {} (argument {})", i,
                     type ? "not committed" : "invalid", argument);
    layouts.push_back(type->layout.get());
    types.push_back(type);
    p.uses.add(use(*type));
  }
  return {};
}

// The reductions: one vector in, one out, of the same type.
Result<Prepared> reduction_call(Collective kind, const void* sendbuf, void* recvbuf, int64_t count,
                                const Datatype& type, const Op& op) {
  Prepared p{.call = {.kind = kind}};
  Result<coll::Reduction> reduction = bind(op, type);
  if (!reduction) return std::move(reduction).error();
  p.call.reduction = *reduction;
  // A function of a program that has not asked for concurrency meets none.
  p.call.reduction.on_application_threads =
      !op.predefined && process().thread_level < MPI_THREAD_MULTIPLE;
  p.op = &op;
  p.call.in_place = sendbuf == MPI_IN_PLACE;
  if (Error e = not_in_place(recvbuf, "recvbuf", "as sendbuf")) return e;
  if (!p.call.in_place) set_in(p, sendbuf, count, &type);
  set_out(p, recvbuf, count, &type);
  p.uses.add(use(op));
  return p;
}

}  // namespace

Result<Prepared> barrier_call(Comm&) { return Prepared{.call = {.kind = Collective::barrier}}; }

Result<Prepared> bcast_call(void* buffer, int64_t count, const Datatype& type, int root, Comm&) {
  if (Error e = not_in_place(buffer, "buffer", "in other collectives")) return e;
  Prepared p{.call = {.kind = Collective::bcast, .root = root}};
  set_out(p, buffer, count, &type);
  return p;
}

Result<Prepared> gather_call(const void* sendbuf, int64_t sendcount, const Datatype* sendtype,
                             void* recvbuf, int64_t recvcount, const Datatype* recvtype, int root,
                             Comm& comm) {
  Prepared p{.call = {.kind = Collective::gather, .root = root}};
  const bool at_root = comm.rank() == root;
  p.call.in_place = sendbuf == MPI_IN_PLACE;
  if (!at_root)
    if (Error e = not_in_place(sendbuf, "sendbuf", "at the root")) return e;
  if (!p.call.in_place) set_in(p, sendbuf, sendcount, sendtype);
  if (at_root) {
    if (Error e = not_in_place(recvbuf, "recvbuf", "as sendbuf")) return e;
    set_out(p, recvbuf, recvcount, recvtype);
    if (Error e = not_aliased(sendbuf, recvbuf, recvcount, sendtype, recvtype)) return e;
  }
  return p;
}

Result<Prepared> gatherv_call(const void* sendbuf, int64_t sendcount, const Datatype* sendtype,
                              void* recvbuf, Ints recvcounts, Ints displs, const Datatype* recvtype,
                              int root, Comm& comm) {
  Prepared p{.call = {.kind = Collective::gatherv, .root = root}};
  const bool at_root = comm.rank() == root;
  p.call.in_place = sendbuf == MPI_IN_PLACE;
  if (!at_root)
    if (Error e = not_in_place(sendbuf, "sendbuf", "at the root")) return e;
  if (!p.call.in_place) set_in(p, sendbuf, sendcount, sendtype);
  if (at_root) {
    if (Error e = not_in_place(recvbuf, "recvbuf", "as sendbuf")) return e;
    if (Error e = counts_valid(recvcounts, comm.size(), "recvcounts")) return e;
    if (Error e = array_given(displs, "displs")) return e;
    set_out(p, recvbuf, 0, recvtype);
    p.call.out_counts = recvcounts;
    p.call.out_displacements = displs;
  }
  return p;
}

Result<Prepared> scatter_call(const void* sendbuf, int64_t sendcount, const Datatype* sendtype,
                              void* recvbuf, int64_t recvcount, const Datatype* recvtype, int root,
                              Comm& comm) {
  Prepared p{.call = {.kind = Collective::scatter, .root = root}};
  const bool at_root = comm.rank() == root;
  p.call.in_place = recvbuf == MPI_IN_PLACE;
  if (!at_root)
    if (Error e = not_in_place(recvbuf, "recvbuf", "at the root")) return e;
  if (!p.call.in_place) set_out(p, recvbuf, recvcount, recvtype);
  if (at_root) {
    if (Error e = not_in_place(sendbuf, "sendbuf", "as recvbuf")) return e;
    set_in(p, sendbuf, sendcount, sendtype);
    if (Error e = not_aliased(sendbuf, recvbuf, sendcount, sendtype, recvtype)) return e;
  }
  return p;
}

Result<Prepared> scatterv_call(const void* sendbuf, Ints sendcounts, Ints displs,
                               const Datatype* sendtype, void* recvbuf, int64_t recvcount,
                               const Datatype* recvtype, int root, Comm& comm) {
  Prepared p{.call = {.kind = Collective::scatterv, .root = root}};
  const bool at_root = comm.rank() == root;
  p.call.in_place = recvbuf == MPI_IN_PLACE;
  if (!at_root)
    if (Error e = not_in_place(recvbuf, "recvbuf", "at the root")) return e;
  if (!p.call.in_place) set_out(p, recvbuf, recvcount, recvtype);
  if (at_root) {
    if (Error e = not_in_place(sendbuf, "sendbuf", "as recvbuf")) return e;
    if (Error e = counts_valid(sendcounts, comm.size(), "sendcounts")) return e;
    if (Error e = array_given(displs, "displs")) return e;
    set_in(p, sendbuf, 0, sendtype);
    p.call.in_counts = sendcounts;
    p.call.in_displacements = displs;
  }
  return p;
}

Result<Prepared> allgather_call(const void* sendbuf, int64_t sendcount, const Datatype* sendtype,
                                void* recvbuf, int64_t recvcount, const Datatype& recvtype, Comm&) {
  Prepared p{.call = {.kind = Collective::allgather}};
  p.call.in_place = sendbuf == MPI_IN_PLACE;
  if (Error e = not_in_place(recvbuf, "recvbuf", "as sendbuf")) return e;
  if (Error e = not_aliased(sendbuf, recvbuf, recvcount, sendtype, &recvtype)) return e;
  if (!p.call.in_place) set_in(p, sendbuf, sendcount, sendtype);
  set_out(p, recvbuf, recvcount, &recvtype);
  return p;
}

Result<Prepared> allgatherv_call(const void* sendbuf, int64_t sendcount, const Datatype* sendtype,
                                 void* recvbuf, Ints recvcounts, Ints displs,
                                 const Datatype& recvtype, Comm& comm) {
  Prepared p{.call = {.kind = Collective::allgatherv}};
  p.call.in_place = sendbuf == MPI_IN_PLACE;
  if (Error e = not_in_place(recvbuf, "recvbuf", "as sendbuf")) return e;
  if (Error e = counts_valid(recvcounts, comm.size(), "recvcounts")) return e;
  if (Error e = array_given(displs, "displs")) return e;
  if (!p.call.in_place) set_in(p, sendbuf, sendcount, sendtype);
  set_out(p, recvbuf, 0, &recvtype);
  p.call.out_counts = recvcounts;
  p.call.out_displacements = displs;
  return p;
}

Result<Prepared> alltoall_call(const void* sendbuf, int64_t sendcount, const Datatype* sendtype,
                               void* recvbuf, int64_t recvcount, const Datatype& recvtype, Comm&) {
  Prepared p{.call = {.kind = Collective::alltoall}};
  p.call.in_place = sendbuf == MPI_IN_PLACE;
  if (Error e = not_in_place(recvbuf, "recvbuf", "as sendbuf")) return e;
  if (Error e = not_aliased(sendbuf, recvbuf, recvcount, sendtype, &recvtype)) return e;
  if (!p.call.in_place) set_in(p, sendbuf, sendcount, sendtype);
  set_out(p, recvbuf, recvcount, &recvtype);
  return p;
}

Result<Prepared> alltoallv_call(const void* sendbuf, Ints sendcounts, Ints sdispls,
                                const Datatype* sendtype, void* recvbuf, Ints recvcounts,
                                Ints rdispls, const Datatype& recvtype, Comm& comm) {
  Prepared p{.call = {.kind = Collective::alltoallv}};
  p.call.in_place = sendbuf == MPI_IN_PLACE;
  if (Error e = not_in_place(recvbuf, "recvbuf", "as sendbuf")) return e;
  if (!p.call.in_place) {
    if (Error e = counts_valid(sendcounts, comm.size(), "sendcounts")) return e;
    if (Error e = array_given(sdispls, "sdispls")) return e;
    set_in(p, sendbuf, 0, sendtype);
    p.call.in_counts = sendcounts;
    p.call.in_displacements = sdispls;
  }
  if (Error e = counts_valid(recvcounts, comm.size(), "recvcounts")) return e;
  if (Error e = array_given(rdispls, "rdispls")) return e;
  set_out(p, recvbuf, 0, &recvtype);
  p.call.out_counts = recvcounts;
  p.call.out_displacements = rdispls;
  return p;
}

Result<Prepared> alltoallw_call(const void* sendbuf, Ints sendcounts, Ints sdispls,
                                const MPI_Datatype* sendtypes, void* recvbuf, Ints recvcounts,
                                Ints rdispls, const MPI_Datatype* recvtypes, Comm& comm) {
  Prepared p{.call = {.kind = Collective::alltoallw, .in = sendbuf, .out = recvbuf}};
  p.call.in_place = sendbuf == MPI_IN_PLACE;
  if (Error e = not_in_place(recvbuf, "recvbuf", "as sendbuf")) return e;
  if (!p.call.in_place) {
    if (Error e = counts_valid(sendcounts, comm.size(), "sendcounts")) return e;
    if (Error e = array_given(sdispls, "sdispls")) return e;
    if (Error e = resolve_types(sendtypes, comm.size(), "sendtypes", p, p.in_layouts, p.in_types)) return e;
    p.call.in_counts = sendcounts;
    p.call.in_displacements = sdispls;
    p.call.in_layouts = p.in_layouts;
    p.call.in_types = p.in_types;
  }
  if (Error e = counts_valid(recvcounts, comm.size(), "recvcounts")) return e;
  if (Error e = array_given(rdispls, "rdispls")) return e;
  if (Error e = resolve_types(recvtypes, comm.size(), "recvtypes", p, p.out_layouts, p.out_types)) return e;
  p.call.out_counts = recvcounts;
  p.call.out_displacements = rdispls;
  p.call.out_layouts = p.out_layouts;
  p.call.out_types = p.out_types;
  return p;
}

Result<Prepared> reduce_call(const void* sendbuf, void* recvbuf, int64_t count,
                             const Datatype& type, const Op& op, int root, Comm& comm) {
  const bool at_root = comm.rank() == root;
  if (at_root) {
    if (Error e = not_aliased(sendbuf, recvbuf, count, &type, &type)) return e;
  } else if (Error e = not_in_place(sendbuf, "sendbuf", "at the root")) {
    return e;
  }
  Result<Prepared> p = reduction_call(Collective::reduce, sendbuf, at_root ? recvbuf : nullptr,
                                      count, type, op);
  if (p) p->call.root = root;
  return p;
}

Result<Prepared> allreduce_call(const void* sendbuf, void* recvbuf, int64_t count,
                                const Datatype& type, const Op& op, Comm&) {
  if (Error e = not_aliased(sendbuf, recvbuf, count, &type, &type)) return e;
  return reduction_call(Collective::allreduce, sendbuf, recvbuf, count, type, op);
}

Result<Prepared> reduce_scatter_call(const void* sendbuf, void* recvbuf, Ints recvcounts,
                                     const Datatype& type, const Op& op, Comm& comm) {
  if (Error e = counts_valid(recvcounts, comm.size(), "recvcounts")) return e;
  Result<Prepared> p = reduction_call(Collective::reduce_scatter, sendbuf, recvbuf, 0, type, op);
  if (p) p->call.out_counts = recvcounts;
  return p;
}

Result<Prepared> reduce_scatter_block_call(const void* sendbuf, void* recvbuf, int64_t recvcount,
                                           const Datatype& type, const Op& op, Comm&) {
  if (Error e = not_aliased(sendbuf, recvbuf, recvcount, &type, &type)) return e;
  return reduction_call(Collective::reduce_scatter_block, sendbuf, recvbuf, recvcount, type, op);
}

Result<Prepared> scan_call(const void* sendbuf, void* recvbuf, int64_t count, const Datatype& type,
                           const Op& op, Comm&) {
  if (Error e = not_aliased(sendbuf, recvbuf, count, &type, &type)) return e;
  return reduction_call(Collective::scan, sendbuf, recvbuf, count, type, op);
}

Result<Prepared> exscan_call(const void* sendbuf, void* recvbuf, int64_t count,
                             const Datatype& type, const Op& op, Comm&) {
  if (Error e = not_aliased(sendbuf, recvbuf, count, &type, &type)) return e;
  return reduction_call(Collective::exscan, sendbuf, recvbuf, count, type, op);
}

}  // namespace tutti::mpi
