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

void take_vector(Shape& s, const CollectiveRow& row, const Call& call) {
  const Layout* const layout = element_layout(call);
  s.commutative = call.reduction.commutative;
  s.dense = is_dense(layout);
  if (row.divided == Divided::by_counts) {
    const int parts = ArrayLengths(call, s.size).out;
    s.counts.reserve(static_cast<size_t>(parts));
    for (int i = 0; i < parts; ++i) s.counts.push_back(call.out_counts[i]);
  } else {
    s.out_count = call.in_place || row.divided == Divided::equally ? call.out_count : call.in_count;
    if (row.divided == Divided::no) s.in_count = s.out_count;
  }
  s.bytes = packed(s.vector_count(), layout);
}

// What has arrays has no one count.
void take_blocks(Shape& s, const CollectiveRow& row, const Call& call) {
  const bool at_root = s.rank == call.root;
  if (row.has_input(at_root, s.in_place) && !has_arrays(row.input)) s.in_count = call.in_count;
  if (row.has_output(at_root, s.in_place) && !has_arrays(row.output)) s.out_count = call.out_count;
  if (row.known_to != KnownTo::all) return;
  if (has_arrays(row.output)) {
    const int blocks = ArrayLengths(call, s.size).out;
    s.counts.reserve(static_cast<size_t>(blocks));
    for (int i = 0; i < blocks; ++i) s.counts.push_back(packed(call.out_counts[i], call.out_layout));
    s.bytes = std::accumulate(s.counts.begin(), s.counts.end(), int64_t{0});
  } else if (row.is_told_by_input(at_root)) {
    s.bytes = packed(call.in_count, call.in_layout);
  } else {
    s.bytes = packed(call.out_count, call.out_layout);
  }
  if (row.input == Holds::nothing)  // one buffer, as bcast has it
    s.dense = !call.out_layout || Payload{call.out, call.out_count, call.out_layout}.contiguous();
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

int64_t Shape::vector_count() const {
  switch (row_of(kind).divided) {
    case Divided::no:
      break;
    case Divided::equally:
      return out_count * (first_side ? sides().size() : size);
    case Divided::by_counts:
      return std::accumulate(counts.begin(), counts.end(), int64_t{0});
  }
  return out_count;
}

int64_t Shape::part_count(int rank_in_group) const {
  return row_of(kind).divided == Divided::by_counts ? counts[static_cast<size_t>(rank_in_group)] : out_count;
}

int64_t Shape::rank_bytes() const {
  const CollectiveRow& row = row_of(kind);
  const bool of_all = row.reduces || row.input == Holds::nothing || has_arrays(row.output);
  return of_all ? bytes / size : bytes;
}

Shape shape_of(const Call& call, int rank, int size) {
  const CollectiveRow& row = row_of(call.kind);
  Shape s;
  s.kind = call.kind;
  s.rank = rank;
  s.size = size;
  s.first_side = call.sides.first;
  s.in_place = call.in_place && row.input != Holds::nothing;
  s.edges = row.over_edges ? call.edges : nullptr;
  if (row.rooted()) s.root = call.root;
  if (row.reduces)
    take_vector(s, row, call);
  else
    take_blocks(s, row, call);
  return s;
}

}  // namespace tutti::coll
