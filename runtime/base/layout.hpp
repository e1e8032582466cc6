// SPDX-License-Identifier: BSD-3-Clause
// Layout: where the bytes of one element of a datatype lie, and Payload: so many elements in
// memory. Owns the conversion between memory and the packed form (the bytes in type-map order,
// gaps left out), in pieces of any size, so that a transport never needs a copy of the whole; who
// wants bytes moved asks a mover for it (memory/movers.hpp). Knows nothing of MPI handles;
// mpi::Datatype owns one Layout each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes.hpp"

namespace tutti {

class Layout;
using LayoutRef = std::shared_ptr<const Layout>;

// Immutable once made; shared between threads and between the types built from it. Kept in a
// normal form: adjacent blocks are joined, equally spaced ones become one piece, so that many ways
// to describe the same bytes are equally fast.
//
// Bounds are the standard's (5.1.6 to 5.1.8): lower_bound and extent that were set by resized()
// outrank those of the data in all types built from it, and an extent that was not set holds the extents
// of the parts and is rounded up to the alignment of the data. The makers return nullptr if a bound or a size does not fit in
// 64 bits.
class Layout {
 public:
  // One dense run of `size` bytes at displacement 0: all predefined types but the pair types
  // with gaps, MPI_BYTE, MPI_PACKED. `alignment` is what the C type wants.
  static LayoutRef dense(int64_t size, int64_t alignment = 1);
  static const Layout& bytes() { return kBytes; }  // dense(1), lives for ever

  // `count` times `element`, `stride` bytes apart: contiguous, vector, hvector.
  static LayoutRef repeat(const LayoutRef& element, int64_t count, int64_t stride);
  // Pieces in type-map order: `counts[i]` consecutive elements of `elements[i]` (extent apart) at
  // byte displacement `displacements[i]`: indexed, hindexed, blocks, struct.
  static LayoutRef sequence(const std::vector<LayoutRef>& elements, const std::vector<int64_t>& counts,
                            const std::vector<int64_t>& displacements);
  static LayoutRef resized(const LayoutRef& element, int64_t lower_bound, int64_t extent);
  // Packed bytes [offset, offset + length) of `count` elements of `whole`, which has them: a range
  // may begin and end anywhere. To pack and to unpack one element of it at their base, no more: its
  // bounds are those of the whole. It borrows `whole`.
  static LayoutRef range(const Layout& whole, int64_t count, int64_t offset, int64_t length);

  int64_t size() const { return size_; }      // bytes of data in one element
  int64_t extent() const { return extent_; }  // bytes from one element to the next
  int64_t lower_bound() const { return lower_bound_; }
  int64_t true_lower_bound() const { return true_lower_bound_; }
  int64_t true_extent() const { return true_extent_; }

  // Any number of consecutive elements is one run of bytes, starting at true_lower_bound().
  bool is_dense() const { return dense_; }
  // One element is one run of bytes (its extent may differ from its size).
  bool is_one_run() const { return pieces_ == nullptr; }

  // Packed bytes [offset, offset + length) of `count` elements at `base`, into `out` / from `in`;
  // what lies past the last element is left alone. `base` is the address that the user passed:
  // displacements, also negative ones, count from it. Any thread.
  void pack(const void* base, int64_t count, int64_t offset, void* out, int64_t length) const;
  void unpack(void* base, int64_t count, int64_t offset, const void* in, int64_t length) const;

  // A run of bytes [low, high), counted from some address, in more bits than addresses have.
  struct Run {
    __int128 low = 0, high = 0;
  };
  using Predicate = std::function<bool(const Run&)>;
  // Does `holds` say yes to each run of data of `count` elements at `base`? What it says of a run it
  // says of all parts of it: so it is asked of all first, then of parts, down to single runs as far
  // as it says no. `missed`: the first run for which it does.
  bool all_runs(__int128 base, int64_t count, const Predicate& holds, Run& missed) const;

  // The runs of bytes that hold packed bytes [offset, offset + length) of elements in a row, as many as it takes,
  // in type-map order, and joined where one ends at the beginning of the next: visit(displacement of the
  // first byte, bytes), until it says no. Costs nothing for what lies before `offset`. True: it was never no.
  using VisitRun = std::function<bool(int64_t displacement, int64_t bytes)>;
  bool each_run(int64_t offset, int64_t length, const VisitRun& visit) const;
  // Where packed byte `offset` of elements in a row lies.
  int64_t displacement_of(int64_t offset) const;

  // To another process. Parts that are shared stay shared. read() takes it off the front of `from`;
  // nullptr if that is no layout.
  void write(Bytes& to) const;
  static LayoutRef read(std::span<const std::byte>& from);

 private:
  constexpr Layout() = default;
  constexpr explicit Layout(int64_t dense) : size_(dense), extent_(dense), true_extent_(dense) {}
  friend struct LayoutWalk;
  friend struct LayoutRuns;
  friend struct PackedRuns;
  friend struct LayoutMaker;
  friend struct LayoutOnWire;
  static const Layout kBytes;

  // `count` blocks of `block` bytes, or `count` elements of so many packed bytes, `stride` bytes
  // apart, the first at `displacement`; `packed_before` packed bytes stand before them.
  struct Piece {
    LayoutRef element = nullptr;  // nullptr: blocks
    int64_t block = 0, count = 1, stride = 0, displacement = 0, packed_before = 0;

    int64_t bytes() const { return block * count; }
    bool is_run() const { return element == nullptr && count == 1; }
  };
  using Pieces = std::vector<Piece>;

  int64_t size_ = 0, extent_ = 0, lower_bound_ = 0, true_lower_bound_ = 0, true_extent_ = 0;
  int64_t alignment_ = 1;
  bool bounds_were_set_ = false;  // by resized(), here or in a part
  bool dense_ = true;
  // nullptr: one run of size_ bytes at true_lower_bound_. Otherwise in type-map order, none empty.
  std::shared_ptr<const Pieces> pieces_;
};

// `count` elements of `layout` at `base`. Does not own; the layout outlives it.
struct Payload {
  void* base = nullptr;
  int64_t count = 0;
  const Layout* layout = &Layout::bytes();

  int64_t bytes() const { return count * layout->size(); }
  bool contiguous() const { return layout->is_dense() || (count <= 1 && layout->is_one_run()); }
  // First byte of the data; only when contiguous().
  std::byte* data() const {  // by numbers: base may be MPI_BOTTOM
    return reinterpret_cast<std::byte*>(reinterpret_cast<uintptr_t>(base) +
                                        static_cast<uintptr_t>(layout->true_lower_bound()));
  }
};

// It is copied into each message, operation and step: what says more of memory stands beside it (memory/region.hpp).
static_assert(sizeof(Payload) == 24);

}  // namespace tutti
