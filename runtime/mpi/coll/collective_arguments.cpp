// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/collective_arguments.hpp"

#include "mpi/object/process.hpp"

namespace tutti::mpi {
namespace {

using coll::Collective;
using coll::Holds;

// ---- arguments. `call` refers to types and operations by plain pointers; `uses` keeps them.

Ref<Object> use(const Object& object) {
  return Ref<Object>(const_cast<Object*>(&object));
}

void set_in(ResolvedCall& p, const void* buf, int64_t count, const Datatype* type) {
  p.call.in = buf;
  p.call.in_count = count;
  if (!type) return;
  p.call.in_layout = type->layout.get();
  p.call.in_type = type;
  p.uses.add(use(*type));
}

void set_out(ResolvedCall& p, void* buf, int64_t count, const Datatype* type) {
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
Error not_aliased(const void* in, const void* out, int64_t count, const Datatype* in_type, const Datatype* out_type) {
  if (in != out || in == nullptr || count == 0) return {};
  if (in_type != out_type || !in_type || in_type->layout->size() == 0) return {};
  return failure(MPI_ERR_BUFFER, "the send and the receive buffer are the same: pass MPI_IN_PLACE instead");
}

Error array_given(const Ints& array, const char* argument) {
  if (array) return {};
  return failure(MPI_ERR_ARG, "the array is NULL (argument {})", argument);
}

Error counts_valid(const Ints& counts, int n, const char* argument) {
  if (n == 0) return {};
  if (Error e = array_given(counts, argument)) return e;
  for (int i = 0; i < n; ++i)
    if (counts[i] < 0)
      return failure(MPI_ERR_COUNT, "count {} for rank {} is negative (argument {})", counts[i], i, argument);
  return {};
}

// Blocks for ranks, or for neighbours, at places behind one address. As NULL is MPI_BOTTOM, a place may be an
// absolute address, and a derived type have such ones; but nothing lies at the first addresses, which no process
// of a user can map (vm.mmap_min_addr). `places`: none where all blocks follow each other from the address on.
struct Blocks {
  const void* buffer;
  Ints counts, places;
  const Datatype* type;  // of all; nullptr: they have `types`, and places in bytes
  const std::vector<const void*>* types = nullptr;
  const std::vector<int>* peers = nullptr;  // of neighbours, some of whom may be nobody
};

Error blocks_given(const Blocks& b, int n, const char* argument) {
  constexpr int64_t kNothingBelow = 64 << 10;
  if (b.buffer) [[likely]]
    return {};
  for (int i = 0; i < n; ++i) {
    const auto k = static_cast<size_t>(i);
    const auto& type = b.type ? *b.type : *static_cast<const Datatype*>((*b.types)[k]);
    if (b.counts[i] == 0 || !type.predefined || (b.peers && (*b.peers)[k] == coll::kNobody)) continue;
    const int64_t place = b.places ? b.places[i] : 0, at = b.type ? place * type.layout->extent() : place;
    if (at < 0 || at >= kNothingBelow) continue;
    return failure(MPI_ERR_BUFFER, "the buffer is NULL, yet {} element{} for rank {} lie{} in it (argument {})",
                   b.counts[i], b.counts[i] == 1 ? "" : "s", b.peers ? (*b.peers)[k] : i, b.counts[i] == 1 ? "s" : "",
                   argument);
  }
  return {};
}

Error resolve_types(const MPI_Datatype* handles, int n, const char* argument, ResolvedCall& p,
                    std::vector<const Layout*>& layouts, std::vector<const void*>& types) {
  if (!handles && n > 0) return failure(MPI_ERR_ARG, "the array is NULL (argument {})", argument);
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

// The reductions: one vector in, one out, of the same type. `count`: of elements in all.
Result<ResolvedCall> reduction_call(const Arguments& a, const Comm& comm, void* recvbuf, int64_t count) {
  ResolvedCall p{.call = {.kind = a.kind, .root = a.root}};
  Result<coll::Reduction> reduction = bind(*a.op, count, *a.recvtype, comm.rank() == 0);
  if (!reduction) return std::move(reduction).error();
  p.call.reduction = *reduction;
  // A function of a program that has not asked for concurrency meets none.
  p.call.reduction.on_application_threads = !a.op->predefined && process().thread_level < MPI_THREAD_MULTIPLE;
  p.op = a.op;
  p.call.in_place = a.sendbuf == MPI_IN_PLACE;
  if (Error e = not_in_place(recvbuf, "recvbuf", "as sendbuf")) return e;
  if (!p.call.in_place) set_in(p, a.sendbuf, a.recvcount, a.recvtype);
  set_out(p, recvbuf, a.recvcount, a.recvtype);
  p.uses.add(use(*a.op));
  return p;
}

// Whether a rooted call's root is this rank; between two groups it says so itself.
bool is_root(const Arguments& a, const Comm& comm) {
  return comm.is_inter() ? a.root == MPI_ROOT : a.root == comm.rank();
}

// The ranks that blocks go to and come from, as the arrays of counts have them.
int blocks_of(const Comm& comm) {
  return comm.is_inter() ? comm.remote_size() : comm.size();
}

Result<ResolvedCall> bcast_call(const Arguments& a) {
  if (Error e = not_in_place(a.recvbuf, "buffer", "in other collectives")) return e;
  ResolvedCall p{.call = {.kind = a.kind, .root = a.root}};
  set_out(p, a.recvbuf, a.recvcount, a.recvtype);
  return p;
}

// gather and gatherv.
Result<ResolvedCall> gather_call(const Arguments& a, Comm& comm) {
  ResolvedCall p{.call = {.kind = a.kind, .root = a.root}};
  const bool at_root = is_root(a, comm);
  p.call.in_place = a.sendbuf == MPI_IN_PLACE || (comm.is_inter() && at_root);
  if (!at_root)
    if (Error e = not_in_place(a.sendbuf, "sendbuf", "at the root")) return e;
  if (!p.call.in_place) set_in(p, a.sendbuf, a.sendcount, a.sendtype);
  if (!at_root) return p;
  if (Error e = not_in_place(a.recvbuf, "recvbuf", "as sendbuf")) return e;
  if (a.kind == Collective::gatherv) {
    if (Error e = counts_valid(a.recvcounts, blocks_of(comm), "recvcounts")) return e;
    if (Error e = array_given(a.rdispls, "displs")) return e;
    if (Error e = blocks_given({a.recvbuf, a.recvcounts, a.rdispls, a.recvtype}, blocks_of(comm), "recvbuf")) return e;
    p.call.out_counts = a.recvcounts;
    p.call.out_displacements = a.rdispls;
  } else if (!p.call.in_place) {
    if (Error e = not_aliased(a.sendbuf, a.recvbuf, a.recvcount, a.sendtype, a.recvtype)) return e;
  }
  set_out(p, a.recvbuf, a.recvcount, a.recvtype);
  return p;
}

// scatter and scatterv.
Result<ResolvedCall> scatter_call(const Arguments& a, Comm& comm) {
  ResolvedCall p{.call = {.kind = a.kind, .root = a.root}};
  const bool at_root = is_root(a, comm);
  p.call.in_place = a.recvbuf == MPI_IN_PLACE || (comm.is_inter() && at_root);
  if (!at_root)
    if (Error e = not_in_place(a.recvbuf, "recvbuf", "at the root")) return e;
  if (!p.call.in_place) set_out(p, a.recvbuf, a.recvcount, a.recvtype);
  if (!at_root) return p;
  if (Error e = not_in_place(a.sendbuf, "sendbuf", "as recvbuf")) return e;
  if (a.kind == Collective::scatterv) {
    if (Error e = counts_valid(a.sendcounts, blocks_of(comm), "sendcounts")) return e;
    if (Error e = array_given(a.sdispls, "displs")) return e;
    if (Error e = blocks_given({a.sendbuf, a.sendcounts, a.sdispls, a.sendtype}, blocks_of(comm), "sendbuf")) return e;
    p.call.in_counts = a.sendcounts;
    p.call.in_displacements = a.sdispls;
  } else if (!p.call.in_place) {
    if (Error e = not_aliased(a.sendbuf, a.recvbuf, a.sendcount, a.sendtype, a.recvtype)) return e;
  }
  set_in(p, a.sendbuf, a.sendcount, a.sendtype);
  return p;
}

// allgather and alltoall.
Result<ResolvedCall> all_to_all_call(const Arguments& a) {
  ResolvedCall p{.call = {.kind = a.kind}};
  p.call.in_place = a.sendbuf == MPI_IN_PLACE;
  if (Error e = not_in_place(a.recvbuf, "recvbuf", "as sendbuf")) return e;
  if (Error e = not_aliased(a.sendbuf, a.recvbuf, a.recvcount, a.sendtype, a.recvtype)) return e;
  if (!p.call.in_place) set_in(p, a.sendbuf, a.sendcount, a.sendtype);
  set_out(p, a.recvbuf, a.recvcount, a.recvtype);
  return p;
}

// allgatherv, alltoallv and alltoallw, of which the first has one block to send.
Result<ResolvedCall> all_to_all_v_call(const Arguments& a, Comm& comm) {
  ResolvedCall p{.call = {.kind = a.kind}};
  p.call.in_place = a.sendbuf == MPI_IN_PLACE;
  if (Error e = not_in_place(a.recvbuf, "recvbuf", "as sendbuf")) return e;
  const bool one_block = a.kind == Collective::allgatherv, typed = a.kind == Collective::alltoallw;
  const int blocks = blocks_of(comm);
  if (!p.call.in_place) {
    if (!one_block) {
      if (Error e = counts_valid(a.sendcounts, blocks, "sendcounts")) return e;
      if (Error e = array_given(a.sdispls, "sdispls")) return e;
      p.call.in_counts = a.sendcounts;
      p.call.in_displacements = a.sdispls;
    }
    if (typed) {
      if (Error e = resolve_types(a.sendtypes, blocks, "sendtypes", p, p.in_layouts, p.in_types)) return e;
      p.call.in_layouts = p.in_layouts;
      p.call.in_types = p.in_types;
    }
    if (!one_block)
      if (Error e = blocks_given({a.sendbuf, a.sendcounts, a.sdispls, typed ? nullptr : a.sendtype, &p.in_types},
                                 blocks, "sendbuf"))
        return e;
    set_in(p, a.sendbuf, a.sendcount, a.sendtype);
  }
  if (Error e = counts_valid(a.recvcounts, blocks, "recvcounts")) return e;
  if (Error e = array_given(a.rdispls, one_block ? "displs" : "rdispls")) return e;
  if (typed) {
    if (Error e = resolve_types(a.recvtypes, blocks, "recvtypes", p, p.out_layouts, p.out_types)) return e;
    p.call.out_layouts = p.out_layouts;
    p.call.out_types = p.out_types;
  }
  if (Error e = blocks_given({a.recvbuf, a.recvcounts, a.rdispls, typed ? nullptr : a.recvtype, &p.out_types}, blocks,
                             "recvbuf"))
    return e;
  set_out(p, a.recvbuf, 0, a.recvtype);
  p.call.out_counts = a.recvcounts;
  p.call.out_displacements = a.rdispls;
  return p;
}

// Each side has as many blocks as the rank has edges there.
Result<ResolvedCall> neighbor_call(const Arguments& a, Comm& comm) {
  if (!comm.topology)
    return failure(MPI_ERR_TOPOLOGY,
                   "the communicator has no topology, which says who is whose neighbour (argument comm)");
  if (comm.topology->one_way != coll::kNobody)
    return failure(MPI_ERR_TOPOLOGY,
                   "rank {} has other edges to rank {} than that one has to it, and neighbours are to be so mutually "
                   "(argument comm)",
                   comm.rank(), comm.topology->one_way);
  if (!comm.topology->one_sided.empty())
    return failure(MPI_ERR_TOPOLOGY,
                   "{}: what goes along an edge takes both of its ends, which name it in "
                   "MPI_Dist_graph_create_adjacent (argument comm)",
                   comm.topology->one_sided);
  for (const auto& [buffer, argument] :
       {std::pair<const void*, const char*>{a.sendbuf, "sendbuf"}, {a.recvbuf, "recvbuf"}})
    if (Error e = not_in_place(buffer, argument, "in other collectives")) return e;
  const coll::Edges& edges = comm.topology->edges;
  const auto sends = static_cast<int>(edges.destinations.size()), receives = static_cast<int>(edges.sources.size());
  const coll::CollectiveRow& row = coll::row_of(a.kind);
  const auto missing = [](const void* buffer, int64_t count, const Datatype* type, const std::vector<int>& peers) {
    return !buffer && count > 0 && type && type->predefined &&
           std::ranges::any_of(peers, [](int peer) { return peer != coll::kNobody; });
  };
  const bool counts_sent = has_arrays(row.input), counts_received = has_arrays(row.output);
  const bool typed = row.input == Holds::typed_arrays;
  const bool no_input = !counts_sent && missing(a.sendbuf, a.sendcount, a.sendtype, edges.destinations);
  if (no_input || (!counts_received && missing(a.recvbuf, a.recvcount, a.recvtype, edges.sources)))
    return failure(MPI_ERR_BUFFER, "the buffer is NULL (argument {})", no_input ? "sendbuf" : "recvbuf");
  ResolvedCall p{.call = {.kind = a.kind, .edges = &edges}};
  if (counts_sent) {
    if (Error e = counts_valid(a.sendcounts, sends, "sendcounts")) return e;
    if (sends > 0)
      if (Error e = array_given(a.sdispls, "sdispls")) return e;
    p.call.in_counts = a.sendcounts;
    p.call.in_displacements = a.sdispls;
  }
  if (counts_received) {
    if (Error e = counts_valid(a.recvcounts, receives, "recvcounts")) return e;
    if (receives > 0)
      if (Error e = array_given(a.rdispls, !counts_sent ? "displs" : "rdispls")) return e;
    p.call.out_counts = a.recvcounts;
    p.call.out_displacements = a.rdispls;
  }
  if (typed) {
    if (Error e = resolve_types(a.sendtypes, sends, "sendtypes", p, p.in_layouts, p.in_types)) return e;
    if (Error e = resolve_types(a.recvtypes, receives, "recvtypes", p, p.out_layouts, p.out_types)) return e;
    p.call.in_layouts = p.in_layouts;
    p.call.in_types = p.in_types;
    p.call.out_layouts = p.out_layouts;
    p.call.out_types = p.out_types;
  }
  if (counts_sent)
    if (Error e = blocks_given(
            {a.sendbuf, a.sendcounts, a.sdispls, typed ? nullptr : a.sendtype, &p.in_types, &edges.destinations}, sends,
            "sendbuf"))
      return e;
  if (counts_received)
    if (Error e = blocks_given(
            {a.recvbuf, a.recvcounts, a.rdispls, typed ? nullptr : a.recvtype, &p.out_types, &edges.sources}, receives,
            "recvbuf"))
      return e;
  set_in(p, a.sendbuf, a.sendcount, a.sendtype);
  set_out(p, a.recvbuf, a.recvcount, a.recvtype);
  return p;
}

Result<ResolvedCall> reduce_call(const Arguments& a, Comm& comm) {
  const bool at_root = is_root(a, comm);
  if (at_root && comm.is_inter()) {  // has a result, and nothing to give
    Arguments root = a;
    root.sendbuf = MPI_IN_PLACE;
    return reduction_call(root, comm, a.recvbuf, a.recvcount);
  }
  if (at_root) {
    if (Error e = not_aliased(a.sendbuf, a.recvbuf, a.recvcount, a.recvtype, a.recvtype)) return e;
  } else if (Error e = not_in_place(a.sendbuf, "sendbuf", "at the root")) {
    return e;
  }
  return reduction_call(a, comm, at_root ? a.recvbuf : nullptr, a.recvcount);
}

Result<ResolvedCall> reduce_scatter_call(const Arguments& a, Comm& comm) {
  const int n = comm.size(), me = comm.rank();
  if (Error e = counts_valid(a.recvcounts, n, "recvcounts")) return e;
  const bool in_place = a.sendbuf == MPI_IN_PLACE;
  if (Error e = blocks_given({a.sendbuf, a.recvcounts, {}, a.recvtype}, n, "sendbuf")) return e;
  if (!a.recvbuf && (in_place || a.recvcounts[me] > 0))
    if (Error e = blocks_given({a.recvbuf, a.recvcounts, {}, a.recvtype}, n, "recvbuf")) return e;
  int64_t all = 0;
  for (int i = 0; i < n; ++i) all += a.recvcounts[i];
  Result<ResolvedCall> p = reduction_call(a, comm, a.recvbuf, all);
  if (p) p->call.out_counts = a.recvcounts;
  return p;
}

// What the collectives between two groups do not know, whichever argument says it.
Error between_groups(const Arguments& a) {
  const bool sends = a.sendbuf == MPI_IN_PLACE;
  if (sends || a.recvbuf == MPI_IN_PLACE)
    return failure(MPI_ERR_BUFFER,
                   "MPI_IN_PLACE means nothing on an intercommunicator: what a group gets is the other one's "
                   "(argument {})",
                   sends                         ? "sendbuf"
                   : a.kind == Collective::bcast ? "buffer"
                                                 : "recvbuf");
  return {};
}

Result<ResolvedCall> of_kind(const Arguments& a, Comm& comm) {
  switch (a.kind) {
    case Collective::barrier:
      return ResolvedCall{.call = {.kind = Collective::barrier}};
    case Collective::bcast:
      return bcast_call(a);
    case Collective::gather:
    case Collective::gatherv:
      return gather_call(a, comm);
    case Collective::scatter:
    case Collective::scatterv:
      return scatter_call(a, comm);
    case Collective::allgather:
    case Collective::alltoall:
      return all_to_all_call(a);
    case Collective::allgatherv:
    case Collective::alltoallv:
    case Collective::alltoallw:
      return all_to_all_v_call(a, comm);
    case Collective::neighbor_allgather:
    case Collective::neighbor_allgatherv:
    case Collective::neighbor_alltoall:
    case Collective::neighbor_alltoallv:
    case Collective::neighbor_alltoallw:
      return neighbor_call(a, comm);
    case Collective::reduce:
      return reduce_call(a, comm);
    case Collective::reduce_scatter:
      return reduce_scatter_call(a, comm);
    case Collective::exscan:
      // The receive buffer means nothing here.
      if (comm.rank() == 0)
        return reduction_call(a, comm, a.recvbuf == MPI_IN_PLACE && a.sendbuf != MPI_IN_PLACE ? nullptr : a.recvbuf,
                              a.recvcount);
      break;
    case Collective::allreduce:
    case Collective::reduce_scatter_block:
    case Collective::scan:
      break;
  }
  if (Error e = not_aliased(a.sendbuf, a.recvbuf, a.recvcount, a.recvtype, a.recvtype)) return e;
  return reduction_call(a, comm, a.recvbuf, a.recvcount);
}

}  // namespace

Result<ResolvedCall> resolve_call(const Arguments& a, Comm& comm) {
  if (!comm.is_inter()) [[likely]]
    return of_kind(a, comm);
  const Sides sides = comm.hidden.sides;
  if (a.root == MPI_PROC_NULL)  // beside the root: nothing else means anything here
    return ResolvedCall{.call = {.kind = a.kind, .sides = sides, .root = coll::kRootElsewhere}};
  if (Error e = between_groups(a)) return e;
  Result<ResolvedCall> p = of_kind(a, comm);
  if (p) {
    p->call.sides = sides;
    p->call.root = a.root == MPI_ROOT ? sides.rank : sides.other_begin() + a.root;
  }
  return p;
}

}  // namespace tutti::mpi
