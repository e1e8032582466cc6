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
    return runs(base, length, half, stride) &&
           runs(base + half * stride, length, count - half, stride);
  }

  bool elements(const Layout& layout, Wide base, int64_t count, Wide stride) const {
    if (count == 0 || layout.size_ == 0) return true;
    const Wide first = base + layout.true_lower_bound_;
    if (layout.is_one_run()) return runs(first, layout.size_, count, stride);
    const Wide last = (count - 1) * stride;
    if (holds({first + std::min<Wide>(last, 0),
               first + std::max<Wide>(last, 0) + layout.true_extent_}))
      return true;
    if (count == 1)
      return std::ranges::all_of(*layout.pieces_,
                                 [&](const Layout::Piece& p) { return piece(p, base); });
    const int64_t half = count / 2;
    return elements(layout, base, half, stride) &&
           elements(layout, base + half * stride, count - half, stride);
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

}  // namespace tutti
