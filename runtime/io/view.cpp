// SPDX-License-Identifier: BSD-3-Clause
#include "io/view.hpp"

namespace tutti::io {

int64_t View::position_at(int64_t offset) const {
  const Layout& layout = *tile;
  const int64_t size = layout.size(), extent = layout.extent();
  const int64_t beyond = offset - displacement - layout.true_lower_bound();  // the first position's place
  if (size == 0 || beyond <= 0) return 0;
  if (layout.is_dense() || extent <= 0) return beyond;
  // Tiles that end before it, and then the first byte of the next one that does not lie before it.
  const int64_t whole = std::max<int64_t>((beyond - layout.true_extent()) / extent, 0);
  int64_t tiles = whole;
  while (tiles * extent + layout.true_extent() <= beyond) ++tiles;
  int64_t low = 0, high = size;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (displacement + layout.displacement_of(tiles * size + middle) < offset)
      low = middle + 1;
    else
      high = middle;
  }
  return tiles * size + low;
}

uint64_t View::fingerprint() const {
  constexpr int kPositions = 24;  // powers of two, and what lies three times as far
  uint64_t hash = static_cast<uint64_t>(is_empty());
  const int64_t tiles = (int64_t{1} << 60) / std::max<int64_t>(tile->extent(), 1);  // what 64 bits count
  const auto add = [&](int64_t position) {
    if (position / tile->size() + 1 >= tiles) return;
    hash = (hash ^ static_cast<uint64_t>(offset_of(position))) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  };
  if (is_empty()) return hash;
  add(0);
  for (int i = 0; i < kPositions; ++i) add(int64_t{1} << i), add(int64_t{3} << i);
  return hash;
}

}  // namespace tutti::io
