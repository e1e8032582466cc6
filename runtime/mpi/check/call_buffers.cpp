// SPDX-License-Identifier: BSD-3-Clause
// What a collective reads and writes here (buffers.hpp), by the row of its kind.
#include <algorithm>

#include "coll/collective.hpp"
#include "mpi/check/buffers.hpp"

namespace tutti::mpi {
namespace {

using coll::Divided;
using coll::Holds;
using coll::Prefix;

class UsesOf {
 public:
  UsesOf(const coll::Call& call, const Comm& comm)
      : call_(call),
        row_(coll::row_of(call.kind)),
        size_(comm.is_inter() ? comm.remote_size() : comm.size()),
        parts_(comm.size()),
        at_root_(comm.hidden.rank == call.root) {
    if (call.edges) {
      add_edges();
      return;
    }
    if (call.root == coll::kRootElsewhere) return;
    if (!call.in_place && row_.has_input(at_root_, false)) add_input();
    if (row_.has_output(at_root_, call.in_place)) add_output(comm.rank());
  }
  const std::vector<BufferUse>& uses() const { return uses_; }

 private:
  void add_input() {
    switch (row_.input) {
      case Holds::nothing:
        return;
      case Holds::block:
        return in(row_.divided == Divided::no ? call_.in_count : vector_count());
      case Holds::blocks:
        return in(call_.in_count * size_);
      case Holds::arrays:
      case Holds::typed_arrays:
        return in_blocks();
    }
  }
  void add_output(int rank) {
    // The first rank has nothing before it: its receive buffer means nothing.
    if (row_.prefix == Prefix::exclusive && rank == 0 && !call_.in_place) return;
    switch (row_.output) {
      case Holds::nothing:
        return;
      case Holds::block:
        if (row_.divided != Divided::no) return out(call_.in_place ? vector_count() : part_count(rank));
        return out(call_.out_count, !(at_root_ && row_.input == Holds::nothing));  // the root reads bcast's one buffer
      case Holds::blocks:
        return out(call_.out_count * size_);
      case Holds::arrays:
      case Holds::typed_arrays:
        return out_blocks();
    }
  }
  // Of a neighbourhood collective; nothing is read or written for an edge that leads nowhere.
  void add_edges() {
    const coll::Edges& edges = *call_.edges;
    if (row_.input == Holds::block) {  // one for all of them, and for nobody if there is none
      if (std::ranges::any_of(edges.destinations, [](int peer) { return peer != coll::kNobody; })) in(call_.in_count);
    } else {
      along(edges.destinations, call_.in, call_.in_count, call_.in_counts, call_.in_displacements, call_.in_layout,
            call_.in_layouts, false);
    }
    along(edges.sources, call_.out, call_.out_count, call_.out_counts, call_.out_displacements, call_.out_layout,
          call_.out_layouts, true);
  }
  void along(const std::vector<int>& peers, const void* base, int64_t count, const Ints& counts,
             const Ints& displacements, const Layout* one, std::span<const Layout* const> each, bool writes) {
    for (size_t i = 0; i < peers.size(); ++i) {
      if (peers[i] == coll::kNobody) continue;
      const auto k = static_cast<int64_t>(i);
      const Layout& layout = each.empty() ? *one : *each[i];
      const int64_t first = counts ? displacements[k] : k * count;
      const int64_t bytes = first * (each.empty() ? layout.extent() : 1);
      const uintptr_t at = reinterpret_cast<uintptr_t>(base) + static_cast<uintptr_t>(bytes);
      add(reinterpret_cast<const void*>(at), counts ? counts[k] : count, &layout, writes);
    }
  }
  // Of a reduction whose result is divided.
  int64_t part_count(int rank) const {
    return row_.divided == Divided::by_counts ? call_.out_counts[rank] : call_.out_count;
  }
  int64_t vector_count() const {
    int64_t all = 0;
    for (int i = 0; i < parts_; ++i) all += part_count(i);
    return all;
  }
  void in(int64_t count) { add(call_.in, count, call_.in_layout, false); }
  void out(int64_t count, bool writes = true) { add(call_.out, count, call_.out_layout, writes); }
  void in_blocks() {
    blocks(call_.in, call_.in_counts, call_.in_displacements, call_.in_layout, call_.in_layouts, false);
  }
  void out_blocks() {
    blocks(call_.out, call_.out_counts, call_.out_displacements, call_.out_layout, call_.out_layouts, true);
  }
  void blocks(const void* base, const Ints& counts, const Ints& displacements, const Layout* one,
              std::span<const Layout* const> each, bool writes) {
    for (int i = 0; i < size_; ++i) {
      const Layout* layout = each.empty() ? one : each[static_cast<size_t>(i)];
      if (!layout) continue;
      const int64_t bytes = displacements[i] * (each.empty() ? layout->extent() : 1);
      const uintptr_t at = reinterpret_cast<uintptr_t>(base) + static_cast<uintptr_t>(bytes);
      add(reinterpret_cast<const void*>(at), counts[i], layout, writes);
    }
  }
  void add(const void* base, int64_t count, const Layout* layout, bool writes) {
    if (layout && count > 0)
      uses_.push_back({{const_cast<void*>(base), count, layout},
                       writes,
                       nullptr,
                       call_.reduction.function != nullptr,
                       call_.in_place});
  }

  const coll::Call& call_;
  const coll::CollectiveRow& row_;
  const int size_;   // blocks, one for each rank of the group that they go to or come from
  const int parts_;  // into which reduce_scatter divides its vector, one for each rank of this group
  const bool at_root_;
  std::vector<BufferUse> uses_;
};

}  // namespace

std::vector<BufferUse> uses_of(const coll::Call& call, const Comm& comm) {
  return UsesOf(call, comm).uses();
}

}  // namespace tutti::mpi
