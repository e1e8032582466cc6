// SPDX-License-Identifier: BSD-3-Clause
// The runs of bytes of a layout, one after the other as far as anybody wants to know them singly.
#include <algorithm>

#include "base/layout.hpp"

namespace tutti {

struct LayoutRuns {
  using Wide = __int128;
  using Run = Layout::Run;

  const Layout::Predicate& holds;
  Run& missed;

  // `count` runs of `length` bytes, `stride` apart, the first at `base`. Half of them at a time, so
  // that it is seldom asked where few places are told apart.
  bool runs(Wide base, Wide length, int64_t count, Wide stride) const {
    const Wide last = (count - 1) * stride;
    const Run all{base + std::min<Wide>(last, 0), base + std::max<Wide>(last, 0) + length};
    if (holds(all)) return true;
    if (count == 1 || stride == length) return missed = all, false;
    const int64_t half = count / 2;
    return runs(base, length, half, stride) && runs(base + half * stride, length, count - half, stride);
  }

  bool elements(const Layout& layout, Wide base, int64_t count, Wide stride) const {
    if (count == 0 || layout.size_ == 0) return true;
    const Wide first = base + layout.true_lower_bound_;
    if (layout.is_one_run()) return runs(first, layout.size_, count, stride);
    const Wide last = (count - 1) * stride;
    if (holds({first + std::min<Wide>(last, 0), first + std::max<Wide>(last, 0) + layout.true_extent_})) return true;
    if (count == 1) return std::ranges::all_of(*layout.pieces_, [&](const Layout::Piece& p) { return piece(p, base); });
    const int64_t half = count / 2;
    return elements(layout, base, half, stride) && elements(layout, base + half * stride, count - half, stride);
  }

  bool piece(const Layout::Piece& piece, Wide base) const {
    const Wide at = base + piece.displacement;
    return piece.element ? elements(*piece.element, at, piece.count, piece.stride)
                         : runs(at, piece.block, piece.count, piece.stride);
  }
};

bool Layout::all_runs(__int128 base, int64_t count, const Predicate& holds, Run& missed) const {
  return LayoutRuns{holds, missed}.elements(*this, base, count, extent_);
}

// Goes over packed bytes in order; a run is held back until it is known not to go on in the next one.
struct PackedRuns {
  const Layout::VisitRun& visit;
  int64_t at = 0, held = 0;  // no bytes: nothing is held back

  bool emit(int64_t displacement, int64_t bytes) {
    if (held > 0 && at + held == displacement) return held += bytes, true;
    if (!flush()) return false;
    at = displacement;
    held = bytes;
    return true;
  }
  bool flush() {
    const int64_t bytes = held;
    held = 0;
    return bytes == 0 || visit(at, bytes);
  }

  // Packed bytes [from, to) of one element at `base`, from < to.
  bool part(const Layout& layout, int64_t base, int64_t from, int64_t to) {
    if (layout.is_one_run()) return emit(base + layout.true_lower_bound_ + from, to - from);
    const Layout::Pieces& pieces = *layout.pieces_;
    auto next = std::upper_bound(pieces.begin(), pieces.end(), from,
                                 [](int64_t f, const Layout::Piece& p) { return f < p.packed_before; });
    for (auto it = next - 1; it != pieces.end() && it->packed_before < to; ++it) {
      const int64_t first = std::max<int64_t>(from - it->packed_before, 0);
      if (!piece(*it, base + it->displacement, first, std::min(to - it->packed_before, it->bytes()))) return false;
    }
    return true;
  }

  bool piece(const Layout::Piece& piece, int64_t base, int64_t from, int64_t to) {
    for (int64_t i = from / piece.block; from < to; ++i) {
      const int64_t in_block = from - i * piece.block;
      const int64_t now = std::min(piece.block - in_block, to - from);
      const int64_t place = base + i * piece.stride;
      if (!(piece.element ? part(*piece.element, place, in_block, in_block + now) : emit(place + in_block, now)))
        return false;
      from += now;
    }
    return true;
  }
};

bool Layout::each_run(int64_t offset, int64_t length, const VisitRun& visit) const {
  if (length <= 0 || size_ == 0) return true;
  if (dense_) return visit(true_lower_bound_ + offset, length);
  PackedRuns runs{visit};
  while (length > 0) {
    const int64_t element = offset / size_, from = offset % size_;
    const int64_t now = std::min(size_ - from, length);
    if (!runs.part(*this, element * extent_, from, from + now)) return false;
    offset += now;
    length -= now;
  }
  return runs.flush();
}

int64_t Layout::displacement_of(int64_t offset) const {
  int64_t found = 0;
  each_run(offset, 1, [&](int64_t displacement, int64_t) { return found = displacement, false; });
  return found;
}

}  // namespace tutti
