// SPDX-License-Identifier: BSD-3-Clause
// What a collective call is, once its arguments are checked and its handles resolved: the input
// from which a plan's shape is derived and to which a plan is bound.
#pragma once

#include <cstdint>
#include <span>

#include "base/ints.hpp"
#include "base/layout.hpp"
#include "base/reduction.hpp"
#include "base/sides.hpp"
#include "coll/collective.hpp"
#include "coll/edges.hpp"

namespace tutti::coll {

inline constexpr int kRootElsewhere = -1;

// The arguments, by the standard's names (MPI 5.0, chapter 6). What is not significant on this
// rank may hold anything. Buffers, layouts and array arguments live until the call completes.
struct Call {
  Collective kind = Collective::barrier;
  // Between two groups: a rank of the union, or kRootElsewhere where MPI_PROC_NULL was given. A call of
  // the library's own on an intercommunicator may be one of a single group, the union.
  Sides sides;
  int root = 0;
  // MPI_IN_PLACE was given: `in` (of scatter and scatterv: `out`) and its counts and types mean nothing.
  // So they do at a root between two groups, which has but one side of the data.
  bool in_place = false;

  const void* in = nullptr;  // sendbuf; the buffer of bcast is `out` on every rank
  void* out = nullptr;       // recvbuf
  int64_t in_count = 0;      // elements; of one block where there is one block a rank
  int64_t out_count = 0;
  const Layout* in_layout = nullptr;
  const Layout* out_layout = nullptr;

  Ints in_counts, in_displacements;                        // v forms: elements; w form: displacements in bytes
  Ints out_counts, out_displacements;                      // reduce_scatter: out_counts is recvcounts
  std::span<const Layout* const> in_layouts, out_layouts;  // w form

  Reduction reduction;
  const Edges* edges = nullptr;  // of neighbourhood collectives, whose blocks they count; the same for
                                 // all calls on a communicator

  // What all ranks must agree about (contract/signature.hpp): travels in the headers of the call's
  // messages. In the v and w forms what is sent differs from pair to pair: `pair_data` gives the part
  // of the signature for block `block` of the input or the output.
  uint64_t signature = 0;
  uint64_t (*pair_data)(const Call& call, bool input, uint32_t block) = nullptr;
  const void* in_type = nullptr;  // pair_data's own
  const void* out_type = nullptr;
  std::span<const void* const> in_types, out_types;  // w form
};

// How many elements the arrays of a call have on either side: one for each rank, or for each edge.
// Between two groups there is one for each rank of the other group, but for those of reductions, which
// tell how this group divides the result.
struct ArrayLengths {
  ArrayLengths(const Call& call, int ranks)
      : in(call.edges   ? static_cast<int>(call.edges->destinations.size())
           : call.sides ? call.sides.other_size()
                        : ranks),
        out(call.edges                  ? static_cast<int>(call.edges->sources.size())
            : !call.sides               ? ranks
            : row_of(call.kind).reduces ? call.sides.size()
                                        : call.sides.other_size()) {}
  const int in, out;
};

}  // namespace tutti::coll
