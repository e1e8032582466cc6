// SPDX-License-Identifier: BSD-3-Clause
// Shape: everything that a plan depends on, and nothing else. Two calls of one shape share a plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/node_layout.hpp"
#include "coll/call.hpp"

namespace tutti::coll {

class Selection;

// Units: an element is one element of the datatype that this rank passed; ranks may describe the
// same bytes by different types (gather, bcast, …), so what two ranks must agree on is in bytes.
struct Shape {
  Collective kind = Collective::barrier;
  bool in_place = false;
  bool commutative = true;  // reductions
  bool dense = true;        // bcast, reductions: elements are one run of bytes on this rank
  int rank = 0;
  int size = 1;
  int root = 0;           // between two groups also kRootElsewhere
  int first_side = 0;     // between two groups: ranks of the first one; 0: there is but one
  int64_t in_count = 0;   // elements of my input, or of one block of it
  int64_t out_count = 0;  // the same of my output; reductions: of the vector or of one block
  // Packed bytes of the vector (bcast, reductions), of one block (gather, scatter, allgather,
  // alltoall), of all blocks (allgatherv). The same on every rank; 0 where no rank knows the
  // others' counts (gatherv, scatterv, alltoallv, alltoallw).
  int64_t bytes = 0;
  int64_t segment = 128 << 10;  // bytes that travel together in a pipeline
  int64_t written_out = 128;    // steps up to which what repeats is no loop
  // If the ranks of my node share memory: bytes of a rank's slot in the small and in the large lane
  // (transport/shared/lane.hpp); 0: there is no such lane. The same on every rank of the node.
  int64_t small_slot = 0;
  int64_t large_slot = 0;
  int64_t large_windows = 4;  // of the large lane: the fewest that there may be, or more
  // Area::read_rate(), where all ranks are on one node and the call wants the large lane; else 0.
  int64_t read_rate = 0;
  const NodeLayout* nodes = nullptr;  // nullptr: all ranks are on one node, or it is not known
  const Selection* rules = nullptr;   // for the parts of a plan; nullptr: the shipped ones
  const Edges* edges = nullptr;       // of neighbourhood collectives
  // By rank: packed bytes of a block (allgatherv), elements of a block (reduce_scatter). Between two
  // groups: of the ranks of the group that has the blocks, as ArrayLengths says.
  std::vector<int64_t> counts;

  Sides sides() const { return {first_side, size, rank}; }
  // Of a reduction: the elements that it works on, and those of them that come out at a rank of this group. (The two
  // are one number, unless the vector is divided.)
  int64_t vector_count() const;
  int64_t part_count(int rank_in_group) const;

  // Bytes for each rank: of a block, or of what is left of a vector, or of all blocks, if it is divided by the ranks.
  int64_t rank_bytes() const;

  bool operator==(const Shape&) const = default;
  size_t hash() const;
};

// What a reduction works on: on a rank that passed MPI_IN_PLACE, or no receive buffer, one of the
// two layouts of a call means nothing.
const Layout* element_layout(const Call& call);

Shape shape_of(const Call& call, int rank, int size);

}  // namespace tutti::coll
