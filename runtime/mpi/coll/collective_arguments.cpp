// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/collective_arguments.hpp"

#include <algorithm>

#include "mpi/object/process.hpp"

namespace tutti::mpi {
namespace {

using coll::CollectiveRow;
using coll::Divided;
using coll::Holds;
using coll::Prefix;
using coll::Root;

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
  const Datatype* type;                             // of all …
  const std::vector<const void*>* types = nullptr;  // … unless they have these, and places in bytes
  const std::vector<int>* peers = nullptr;          // of neighbours, some of whom may be nobody
};

Error blocks_given(const Blocks& b, int n, const char* argument) {
  constexpr int64_t kNothingBelow = 64 << 10;
  if (b.buffer) [[likely]]
    return {};
  for (int i = 0; i < n; ++i) {
    const auto k = static_cast<size_t>(i);
    const auto& type = b.types ? *static_cast<const Datatype*>((*b.types)[k]) : *b.type;
    if (b.counts[i] == 0 || !type.predefined || (b.peers && (*b.peers)[k] == coll::kNobody)) continue;
    const int64_t place = b.places ? b.places[i] : 0, at = b.types ? place : place * type.layout->extent();
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

// ---- the ends of calls that move blocks, with arrays or without. `n`: blocks, of `peers` if they are neighbours' ones.
// Where one end alone has displacements, they are called displs.

struct Names {
  const char *buffer, *counts, *places, *types;
};

Error arrays_valid(const Blocks& given, const MPI_Datatype* handles, int n, const Names& names, ResolvedCall& p,
                   std::vector<const Layout*>& layouts, std::vector<const void*>& types) {
  if (Error e = counts_valid(given.counts, n, names.counts)) return e;
  if (n > 0)
    if (Error e = array_given(given.places, names.places)) return e;
  if (given.types)
    if (Error e = resolve_types(handles, n, names.types, p, layouts, types)) return e;
  return blocks_given(given, n, names.buffer);
}

Error take_input(const Arguments& a, const CollectiveRow& row, int n, const std::vector<int>* peers, ResolvedCall& p) {
  if (has_arrays(row.input)) {
    const Names names = {"sendbuf", "sendcounts", has_arrays(row.output) ? "sdispls" : "displs", "sendtypes"};
    const bool typed = row.input == Holds::typed_arrays;
    const Blocks given = {a.sendbuf, a.sendcounts, a.sdispls, a.sendtype, typed ? &p.in_types : nullptr, peers};
    if (Error e = arrays_valid(given, a.sendtypes, n, names, p, p.in_layouts, p.in_types)) return e;
    p.call.in_counts = a.sendcounts;
    p.call.in_displacements = a.sdispls;
    p.call.in_layouts = p.in_layouts;
    p.call.in_types = p.in_types;
  }
  set_in(p, a.sendbuf, a.sendcount, a.sendtype);
  return {};
}

Error take_output(const Arguments& a, const CollectiveRow& row, int n, const std::vector<int>* peers, ResolvedCall& p) {
  if (has_arrays(row.output)) {
    const Names names = {"recvbuf", "recvcounts", has_arrays(row.input) ? "rdispls" : "displs", "recvtypes"};
    const bool typed = row.output == Holds::typed_arrays;
    const Blocks given = {a.recvbuf, a.recvcounts, a.rdispls, a.recvtype, typed ? &p.out_types : nullptr, peers};
    if (Error e = arrays_valid(given, a.recvtypes, n, names, p, p.out_layouts, p.out_types)) return e;
    p.call.out_counts = a.recvcounts;
    p.call.out_displacements = a.rdispls;
    p.call.out_layouts = p.out_layouts;
    p.call.out_types = p.out_types;
  }
  set_out(p, a.recvbuf, a.recvcount, a.recvtype);
  return {};
}

// ---- the calls

// The reductions: one vector in, one out, of the same type. `count`: of elements in all.
Result<ResolvedCall> reduction_call(const Arguments& a, const Comm& comm, void* recvbuf, int64_t count) {
  ResolvedCall p{.call = {.kind = a.kind, .root = a.root}};
  Result<Reduction> reduction = bind(*a.op, count, *a.recvtype, comm.rank() == 0);
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

// One buffer, or, of a barrier, none.
Result<ResolvedCall> one_buffer_call(const Arguments& a) {
  if (Error e = not_in_place(a.recvbuf, "buffer", "in other collectives")) return e;
  ResolvedCall p{.call = {.kind = a.kind, .root = a.root}};
  set_out(p, a.recvbuf, a.recvcount, a.recvtype);
  return p;
}

// Blocks between ranks. MPI_IN_PLACE stands for the output where the root gives, else for the input; between two
// groups a root has but one of the two anyway.
Result<ResolvedCall> blocks_call(const Arguments& a, const CollectiveRow& row, Comm& comm) {
  const bool at_root = is_root(a, comm), root_gives = row.root == Root::gives;
  ResolvedCall p{.call = {.kind = a.kind, .root = a.root}};
  p.call.in_place =
      (root_gives ? a.recvbuf : a.sendbuf) == MPI_IN_PLACE || (row.rooted() && at_root && comm.is_inter());
  const bool has_input = row.has_input(at_root, p.call.in_place), has_output = row.has_output(at_root, p.call.in_place);
  const auto refused = [&](bool input, const char* where) {
    return input ? not_in_place(a.sendbuf, "sendbuf", where) : not_in_place(a.recvbuf, "recvbuf", where);
  };
  if (row.rooted() && !at_root) {
    if (Error e = refused(!root_gives, "at the root")) return e;
  } else if (Error e = refused(root_gives, root_gives ? "as recvbuf" : "as sendbuf")) {
    return e;
  }
  if (has_input && has_output && !has_arrays(row.input) && !has_arrays(row.output))
    if (Error e = not_aliased(a.sendbuf, a.recvbuf, a.recvcount, a.sendtype, a.recvtype)) return e;
  const int n = comm.is_inter() ? comm.remote_size() : comm.size();
  if (has_input)
    if (Error e = take_input(a, row, n, nullptr, p)) return e;
  if (has_output)
    if (Error e = take_output(a, row, n, nullptr, p)) return e;
  return p;
}

// Each side has as many blocks as the rank has edges there.
Result<ResolvedCall> neighbor_call(const Arguments& a, const CollectiveRow& row, Comm& comm) {
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
  const auto missing = [](const void* buffer, int64_t count, const Datatype* type, const std::vector<int>& peers) {
    return !buffer && count > 0 && type && type->predefined &&
           std::ranges::any_of(peers, [](int peer) { return peer != coll::kNobody; });
  };
  const bool no_input = !has_arrays(row.input) && missing(a.sendbuf, a.sendcount, a.sendtype, edges.destinations);
  if (no_input || (!has_arrays(row.output) && missing(a.recvbuf, a.recvcount, a.recvtype, edges.sources)))
    return failure(MPI_ERR_BUFFER, "the buffer is NULL (argument {})", no_input ? "sendbuf" : "recvbuf");
  ResolvedCall p{.call = {.kind = a.kind, .edges = &edges}};
  const auto sends = static_cast<int>(edges.destinations.size()), receives = static_cast<int>(edges.sources.size());
  if (Error e = take_input(a, row, sends, &edges.destinations, p)) return e;
  if (Error e = take_output(a, row, receives, &edges.sources, p)) return e;
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

Result<ResolvedCall> of_reduction(const Arguments& a, const CollectiveRow& row, Comm& comm) {
  if (row.rooted()) return reduce_call(a, comm);
  if (row.divided == Divided::by_counts) return reduce_scatter_call(a, comm);
  if (row.prefix == Prefix::exclusive && comm.rank() == 0) {  // the receive buffer means nothing here
    void* const unused = a.recvbuf == MPI_IN_PLACE && a.sendbuf != MPI_IN_PLACE ? nullptr : a.recvbuf;
    return reduction_call(a, comm, unused, a.recvcount);
  }
  if (Error e = not_aliased(a.sendbuf, a.recvbuf, a.recvcount, a.recvtype, a.recvtype)) return e;
  return reduction_call(a, comm, a.recvbuf, a.recvcount);
}

Result<ResolvedCall> of_kind(const Arguments& a, const CollectiveRow& row, Comm& comm) {
  if (row.reduces) return of_reduction(a, row, comm);
  if (row.over_edges) return neighbor_call(a, row, comm);
  if (row.input == Holds::nothing) return one_buffer_call(a);
  return blocks_call(a, row, comm);
}

// What the collectives between two groups do not know, whichever argument says it.
Error between_groups(const Arguments& a, const CollectiveRow& row) {
  const bool sends = a.sendbuf == MPI_IN_PLACE;
  if (sends || a.recvbuf == MPI_IN_PLACE)
    return failure(MPI_ERR_BUFFER,
                   "MPI_IN_PLACE means nothing on an intercommunicator: what a group gets is the other one's "
                   "(argument {})",
                   sends                         ? "sendbuf"
                   : row.input == Holds::nothing ? "buffer"
                                                 : "recvbuf");
  return {};
}

}  // namespace

Result<ResolvedCall> resolve_call(const Arguments& a, Comm& comm) {
  const CollectiveRow& row = coll::row_of(a.kind);
  if (!comm.is_inter()) [[likely]]
    return of_kind(a, row, comm);
  const Sides sides = comm.hidden.sides;
  if (a.root == MPI_PROC_NULL)  // beside the root: nothing else means anything here
    return ResolvedCall{.call = {.kind = a.kind, .sides = sides, .root = coll::kRootElsewhere}};
  if (Error e = between_groups(a, row)) return e;
  Result<ResolvedCall> p = of_kind(a, row, comm);
  if (p) {
    p->call.sides = sides;
    p->call.root = a.root == MPI_ROOT ? sides.rank : sides.other_begin() + a.root;
  }
  return p;
}

}  // namespace tutti::mpi
