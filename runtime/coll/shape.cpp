// SPDX-License-Identifier: BSD-3-Clause
#include "coll/shape.hpp"

#include <numeric>

namespace tutti::coll {
namespace {

int64_t packed(int64_t count, const Layout* layout) {
  return layout ? count * layout->size() : 0;
}

// Elements are laid out as they are packed.
bool is_dense(const Layout* layout) {
  return !layout || (layout->is_dense() && layout->true_lower_bound() == 0);
}

}  // namespace

size_t Shape::hash() const {
  uint64_t h = static_cast<uint64_t>(kind) | static_cast<uint64_t>(in_place) << 8 |
               static_cast<uint64_t>(commutative) << 9 | static_cast<uint64_t>(dense) << 10;
  const auto mix = [&h](int64_t value) {
    h = (h ^ static_cast<uint64_t>(value)) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
  };
  mix(static_cast<int64_t>(reinterpret_cast<uintptr_t>(edges)));
  for (const int64_t value :
       {int64_t{rank}, int64_t{size}, int64_t{root}, int64_t{first_side}, in_count, out_count, bytes, large_slot})
    mix(value);
  for (const int64_t count : counts) mix(count);
  return static_cast<size_t>(h);
}

const Layout* element_layout(const Call& call) {
  if (call.in_place || !call.in_layout) return call.out_layout;
  return call.in_layout;
}

Shape shape_of(const Call& call, int rank, int size) {
  Shape s;
  s.kind = call.kind;
  s.rank = rank;
  s.size = size;
  s.first_side = call.sides.first;
  s.in_place = call.in_place;
  const ArrayLengths lengths(call, size);
  const auto by_block_bytes = [&](bool of_input) {
    s.in_count = call.in_place ? 0 : call.in_count;
    s.out_count = call.out_count;
    s.bytes = of_input ? packed(call.in_count, call.in_layout) : packed(call.out_count, call.out_layout);
  };
  const auto by_vector = [&] {
    s.out_count = s.in_count = call.in_place ? call.out_count : call.in_count;
    s.bytes = packed(s.out_count, element_layout(call));
    s.commutative = call.reduction.commutative;
    s.dense = is_dense(element_layout(call));
  };
  switch (call.kind) {
    case Collective::barrier:
      s.in_place = false;
      break;
    case Collective::bcast:
      s.root = call.root;
      s.in_place = false;
      s.out_count = call.out_count;
      s.bytes = packed(call.out_count, call.out_layout);
      s.dense = !call.out_layout || Payload{call.out, call.out_count, call.out_layout}.contiguous();
      break;
    case Collective::gather:
      s.root = call.root;
      by_block_bytes(rank != call.root);
      if (rank != call.root) s.out_count = 0;
      break;
    case Collective::scatter:
      s.root = call.root;
      by_block_bytes(rank == call.root);
      if (rank == call.root)
        s.in_count = call.in_count;
      else
        s.in_count = 0;
      if (call.in_place) s.out_count = 0;
      break;
    case Collective::gatherv:
    case Collective::scatterv:
      s.root = call.root;
      // The side that has one block tells its size in elements; the other reads its arrays.
      if (call.kind == Collective::gatherv)
        s.in_count = call.in_place ? 0 : call.in_count;
      else
        s.out_count = call.in_place ? 0 : call.out_count;
      break;
    case Collective::allgather:
      by_block_bytes(false);
      break;
    case Collective::alltoall:
      by_block_bytes(false);
      break;
    case Collective::allgatherv:
      s.in_count = call.in_place ? 0 : call.in_count;
      s.counts.resize(static_cast<size_t>(lengths.out));
      for (int i = 0; i < lengths.out; ++i)
        s.counts[static_cast<size_t>(i)] = packed(call.out_counts[i], call.out_layout);
      s.bytes = std::accumulate(s.counts.begin(), s.counts.end(), int64_t{0});
      break;
    case Collective::alltoallv:
    case Collective::alltoallw:
      break;
    case Collective::neighbor_allgather:
    case Collective::neighbor_allgatherv:
    case Collective::neighbor_alltoall:
    case Collective::neighbor_alltoallv:
    case Collective::neighbor_alltoallw:
      s.edges = call.edges;
      s.in_count = call.in_count;
      s.out_count = call.out_count;
      break;
    case Collective::reduce:
      s.root = call.root;
      by_vector();
      break;
    case Collective::allreduce:
    case Collective::scan:
    case Collective::exscan:
      by_vector();
      break;
    case Collective::reduce_scatter:
      s.commutative = call.reduction.commutative;
      s.dense = is_dense(element_layout(call));
      s.counts.resize(static_cast<size_t>(lengths.out));
      for (int i = 0; i < lengths.out; ++i) s.counts[static_cast<size_t>(i)] = call.out_counts[i];
      s.bytes = packed(std::accumulate(s.counts.begin(), s.counts.end(), int64_t{0}), element_layout(call));
      break;
    case Collective::reduce_scatter_block:
      s.commutative = call.reduction.commutative;
      s.dense = is_dense(element_layout(call));
      s.out_count = call.out_count;
      s.bytes = packed(call.out_count * (call.sides ? call.sides.size() : size), element_layout(call));
      break;
  }
  return s;
}

}  // namespace tutti::coll
