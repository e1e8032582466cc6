// SPDX-License-Identifier: BSD-3-Clause
// The making of layouts (bounds and normal form) and the walk over them. A *block* is a run of
// bytes in the user's memory; a *piece* is a number of equally spaced blocks or elements.
#include "base/layout.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

namespace tutti {

namespace {

using Wide = __int128;  // sums and products of 64-bit values that cannot overflow

bool fits(Wide value) {
  // Half of the range, so that sums of two such values fit as well.
  constexpr Wide limit = std::numeric_limits<int64_t>::max() / 2;
  return value >= -limit && value <= limit;
}

std::byte* at(const void* base, int64_t offset) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<uintptr_t>(base) + static_cast<uintptr_t>(offset));
}

}  // namespace

// --- making

struct LayoutMaker {
  using Piece = Layout::Piece;

  static constexpr size_t kInlined = 64;  // an element of at most so many pieces is not nested

  static std::shared_ptr<Layout> make() { return std::shared_ptr<Layout>(new Layout); }

  // `count` elements, `stride` apart, at `displacement`, in normal form, behind `pieces`.
  static void append(Layout::Pieces& pieces, const LayoutRef& element, int64_t count, int64_t stride,
                     int64_t displacement) {
    if (count == 0 || element->size_ == 0) return;
    if (element->is_one_run()) {
      const int64_t start = displacement + element->true_lower_bound_;
      if (count == 1 || stride == element->size_)
        return join(pieces, {.block = element->size_ * count, .displacement = start});
      return join(pieces, {.block = element->size_, .count = count, .stride = stride, .displacement = start});
    }
    const Layout::Pieces& inner = *element->pieces_;
    if (count == 1 && inner.size() <= kInlined) {
      for (Piece piece : inner) {
        piece.displacement += displacement;
        join(pieces, std::move(piece));
      }
      return;
    }
    if (inner.size() == 1 && stride == inner[0].stride * inner[0].count) {
      Piece piece = inner[0];
      piece.count *= count;
      piece.displacement += displacement;
      return join(pieces, std::move(piece));
    }
    join(pieces, {.element = element,
                  .block = element->size_,
                  .count = count,
                  .stride = count == 1 ? 0 : stride,
                  .displacement = displacement});
  }

  // Adds a piece, or makes the last run longer if it continues there.
  static void join(Layout::Pieces& pieces, Piece piece) {
    if (!pieces.empty() && piece.is_run()) {
      Piece& last = pieces.back();
      if (last.is_run() && last.displacement + last.block == piece.displacement) {
        last.block += piece.block;
        return;
      }
    }
    pieces.push_back(std::move(piece));
  }

  // Equally spaced neighbours become one piece; and each learns what stands before it.
  static void space(Layout::Pieces& pieces) {
    size_t kept = 0;
    for (size_t i = 0; i < pieces.size(); i++) {
      if (kept > 0 && continues(pieces[kept - 1], pieces[i])) {
        Piece& last = pieces[kept - 1];
        if (last.count == 1) last.stride = pieces[i].displacement - last.displacement;
        last.count += pieces[i].count;
      } else {
        if (kept != i) pieces[kept] = std::move(pieces[i]);
        kept++;
      }
    }
    pieces.resize(kept);
    pieces.shrink_to_fit();
    int64_t before = 0;
    for (Piece& piece : pieces) {
      piece.packed_before = before;
      before += piece.bytes();
    }
  }

  static bool continues(const Piece& last, const Piece& next) {
    if (last.element != next.element || last.block != next.block) return false;
    const int64_t step = next.displacement - last.displacement;
    if (last.count > 1 && step != last.stride * last.count) return false;
    const int64_t stride = last.count > 1 ? last.stride : step;
    return next.count == 1 || next.stride == stride;
  }

  // Elements that are not dense, as one piece. The layout is only borrowed, not owned.
  static Piece all_of(const Layout& layout, int64_t count) {
    if (layout.is_one_run())
      return {
          .block = layout.size_, .count = count, .stride = layout.extent_, .displacement = layout.true_lower_bound_};
    const Layout::Pieces& pieces = *layout.pieces_;
    if (pieces.size() == 1 && pieces[0].stride * pieces[0].count == layout.extent_) {
      Piece all = pieces[0];
      all.count *= count;
      return all;
    }
    return {
        .element = LayoutRef(LayoutRef(), &layout), .block = layout.size_, .count = count, .stride = layout.extent_};
  }

  // The bounds of what is made, part by part.
  struct Bounds {
    Wide size = 0, data_low = 0, data_high = 0, set_low = 0, set_high = 0;
    Wide low = 0, high = 0;  // of the extents of those parts whose bounds were not set
    int64_t alignment = 1;
    bool any_data = false, any_set = false, any_extent = false, overflow = false;

    void add(const Layout& element, int64_t count, int64_t stride, int64_t displacement) {
      if (count == 0 || overflow) return;
      const Wide span = Wide(count - 1) * stride;
      const Wide first = displacement + std::min<Wide>(0, span);
      const Wide last = displacement + std::max<Wide>(0, span);
      const Wide begin = first + element.lower_bound_, end = last + element.lower_bound_ + element.extent_;
      if (element.size_ > 0) {
        size += Wide(count) * element.size_;
        widen(any_data, data_low, data_high, first + element.true_lower_bound_,
              last + element.true_lower_bound_ + element.true_extent_);
        widen(any_extent, low, high, begin, end);
        alignment = std::max(alignment, element.alignment_);
      }
      if (element.bounds_were_set_) widen(any_set, set_low, set_high, begin, end);
      overflow = !fits(first) || !fits(last) || !fits(size);
    }

    static void widen(bool& any, Wide& low, Wide& high, Wide new_low, Wide new_high) {
      low = any ? std::min(low, new_low) : new_low;
      high = any ? std::max(high, new_high) : new_high;
      any = true;
    }

    bool fill(Layout& layout) const {
      const Wide lower_bound = any_set ? set_low : low;
      const Wide extent = any_set ? set_high - set_low : (high - low + alignment - 1) / alignment * alignment;
      if (overflow || !fits(lower_bound) || !fits(extent) || !fits(data_low) || !fits(data_high) ||
          !fits(data_high - data_low))
        return false;
      layout.size_ = static_cast<int64_t>(size);
      layout.lower_bound_ = static_cast<int64_t>(lower_bound);
      layout.extent_ = static_cast<int64_t>(extent);
      layout.true_lower_bound_ = static_cast<int64_t>(data_low);
      layout.true_extent_ = static_cast<int64_t>(data_high - data_low);
      layout.alignment_ = alignment;
      layout.bounds_were_set_ = any_set;
      return true;
    }
  };

  static LayoutRef finish(Layout::Pieces pieces, std::shared_ptr<Layout> layout) {
    space(pieces);
    if (pieces.size() > 1 || (pieces.size() == 1 && !pieces[0].is_run()))
      layout->pieces_ = std::make_shared<const Layout::Pieces>(std::move(pieces));
    set_dense(*layout);
    return layout;
  }

  static void set_dense(Layout& layout) {
    layout.dense_ = layout.size_ == 0 || (layout.is_one_run() && layout.extent_ == layout.size_);
  }
};

LayoutRef Layout::dense(int64_t size, int64_t alignment) {
  auto layout = LayoutMaker::make();
  layout->size_ = layout->extent_ = layout->true_extent_ = size;
  layout->alignment_ = alignment;
  return layout;
}

constinit const Layout Layout::kBytes{1};

LayoutRef Layout::repeat(const LayoutRef& element, int64_t count, int64_t stride) {
  LayoutMaker::Bounds bounds;
  bounds.add(*element, count, stride, 0);
  auto layout = LayoutMaker::make();
  if (!bounds.fill(*layout)) return nullptr;
  Pieces pieces;
  LayoutMaker::append(pieces, element, count, stride, 0);
  return LayoutMaker::finish(std::move(pieces), std::move(layout));
}

LayoutRef Layout::sequence(const std::vector<LayoutRef>& elements, const std::vector<int64_t>& counts,
                           const std::vector<int64_t>& displacements) {
  LayoutMaker::Bounds bounds;
  for (size_t i = 0; i < elements.size(); i++)
    bounds.add(*elements[i], counts[i], elements[i]->extent_, displacements[i]);
  auto layout = LayoutMaker::make();
  if (!bounds.fill(*layout)) return nullptr;
  Pieces pieces;
  for (size_t i = 0; i < elements.size(); i++)
    LayoutMaker::append(pieces, elements[i], counts[i], elements[i]->extent_, displacements[i]);
  return LayoutMaker::finish(std::move(pieces), std::move(layout));
}

LayoutRef Layout::resized(const LayoutRef& element, int64_t lower_bound, int64_t extent) {
  if (!fits(lower_bound) || !fits(extent)) return nullptr;
  auto layout = LayoutMaker::make();
  *layout = *element;
  layout->lower_bound_ = lower_bound;
  layout->extent_ = extent;
  layout->bounds_were_set_ = true;
  LayoutMaker::set_dense(*layout);
  return layout;
}

// One piece in front of which less than nothing stands: so the walk begins within it.
LayoutRef Layout::range(const Layout& whole, int64_t count, int64_t offset, int64_t length) {
  auto layout = LayoutMaker::make();
  *layout = whole;
  layout->size_ = length;
  layout->dense_ = false;
  Piece piece = LayoutMaker::all_of(whole, count);
  piece.packed_before = -offset;
  layout->pieces_ = std::make_shared<const Pieces>(1, std::move(piece));
  return layout;
}

// --- walking

// One walk serves both directions: `packed` is written or read, the user's memory the other.
struct LayoutWalk {
  using Piece = Layout::Piece;

  enum class Way { pack, unpack };

  template <Way way>
  static void move(std::byte* user, std::byte* packed, size_t length) {
    if constexpr (way == Way::pack)
      std::memcpy(packed, user, length);
    else
      std::memcpy(user, packed, length);
  }

  template <Way way, size_t length>
  static void move_fixed(std::byte* user, std::byte* packed, int64_t count, int64_t stride, int64_t packed_stride) {
    for (int64_t i = 0; i < count; i++) {
      move<way>(user, packed, length);
      user += stride;
      packed += packed_stride;
    }
  }

  template <Way way>
  static void move_blocks(std::byte* user, std::byte* packed, int64_t block, int64_t count, int64_t stride,
                          int64_t packed_stride) {
    switch (block) {  // constant lengths become single instructions
                      // clang-format off
      case 1: return move_fixed<way, 1>(user, packed, count, stride, packed_stride);
      case 2: return move_fixed<way, 2>(user, packed, count, stride, packed_stride);
      case 4: return move_fixed<way, 4>(user, packed, count, stride, packed_stride);
      case 8: return move_fixed<way, 8>(user, packed, count, stride, packed_stride);
      case 12: return move_fixed<way, 12>(user, packed, count, stride, packed_stride);
      case 16: return move_fixed<way, 16>(user, packed, count, stride, packed_stride);
      case 24: return move_fixed<way, 24>(user, packed, count, stride, packed_stride);
      case 32: return move_fixed<way, 32>(user, packed, count, stride, packed_stride);
      case 64: return move_fixed<way, 64>(user, packed, count, stride, packed_stride);
                      // clang-format on
    }
    for (int64_t i = 0; i < count; i++) {
      move<way>(user, packed, static_cast<size_t>(block));
      user += stride;
      packed += packed_stride;
    }
  }

  // Structs side by side: a few runs each. Overlapping ones would depend on the order of writing.
  static bool are_records(const Piece& piece) {
    if (piece.count == 1 || piece.element->is_one_run()) return false;
    const Layout::Pieces& fields = *piece.element->pieces_;
    return std::abs(piece.stride) >= piece.element->true_extent_ && fields.size() <= 16 &&
           std::all_of(fields.begin(), fields.end(), [](const Piece& field) { return field.is_run(); });
  }

  // Records one field after the other, which keeps the loops tight; so many at a time that both
  // sides stay in the cache.
  template <Way way>
  static void move_records(const Piece& piece, std::byte* user, std::byte* packed) {
    constexpr int64_t batch = 128;
    for (int64_t i = 0; i < piece.count; i += batch) {
      const int64_t now = std::min(batch, piece.count - i);
      for (const Piece& field : *piece.element->pieces_)
        move_blocks<way>(at(user, i * piece.stride + field.displacement),
                         packed + i * piece.block + field.packed_before, field.block, now, piece.stride, piece.block);
    }
  }

  // All of one element.
  template <Way way>
  static void whole(const Layout& layout, std::byte* base, std::byte* packed) {
    if (layout.is_one_run())
      return move<way>(at(base, layout.true_lower_bound_), packed, static_cast<size_t>(layout.size_));
    for (const Piece& piece : *layout.pieces_) whole_piece<way>(piece, base, packed + piece.packed_before);
  }

  template <Way way>
  static void whole_piece(const Piece& piece, std::byte* base, std::byte* packed) {
    std::byte* user = at(base, piece.displacement);
    if (!piece.element) return move_blocks<way>(user, packed, piece.block, piece.count, piece.stride, piece.block);
    if (are_records(piece)) return move_records<way>(piece, user, packed);
    for (int64_t i = 0; i < piece.count; i++)
      whole<way>(*piece.element, at(user, i * piece.stride), packed + i * piece.block);
  }

  // Packed bytes [from, to) of one element, from < to.
  template <Way way>
  static void part(const Layout& layout, std::byte* base, int64_t from, int64_t to, std::byte* packed) {
    if (layout.is_one_run())
      return move<way>(at(base, layout.true_lower_bound_ + from), packed, static_cast<size_t>(to - from));
    const Layout::Pieces& pieces = *layout.pieces_;
    auto piece = std::upper_bound(pieces.begin(), pieces.end(), from, [](int64_t value, const Piece& candidate) {
      return value < candidate.packed_before;
    });
    for (--piece; piece != pieces.end() && piece->packed_before < to; ++piece) {
      const int64_t low = std::max(from - piece->packed_before, int64_t{0});
      const int64_t high = std::min(to - piece->packed_before, piece->bytes());
      std::byte* out = packed + (piece->packed_before + low - from);
      if (low == 0 && high == piece->bytes())
        whole_piece<way>(*piece, base, out);
      else
        part_of_piece<way>(*piece, base, low, high, out);
    }
  }

  // Packed bytes [from, to) of a piece: the rest of a block, whole blocks, the start of a block.
  template <Way way>
  static void part_of_piece(const Piece& piece, std::byte* base, int64_t from, int64_t to, std::byte* packed) {
    std::byte* start = at(base, piece.displacement);
    auto within = [&](int64_t index, int64_t low, int64_t high, std::byte* out) {
      std::byte* user = at(start, index * piece.stride);
      if (piece.element)
        part<way>(*piece.element, user, low, high, out);
      else
        move<way>(at(user, low), out, static_cast<size_t>(high - low));
    };
    int64_t first = from / piece.block;
    const int64_t last = to / piece.block;  // the block that the range ends in, or past its end
    const int64_t skip = from - first * piece.block, tail = to - last * piece.block;
    if (first == last) return within(first, skip, tail, packed);
    if (skip > 0) {
      within(first, skip, piece.block, packed);
      packed += piece.block - skip;
      first++;
    }
    if (first < last) {
      const Piece middle{.element = piece.element,
                         .block = piece.block,
                         .count = last - first,
                         .stride = piece.stride,
                         .displacement = piece.displacement + first * piece.stride};
      whole_piece<way>(middle, base, packed);
      packed += (last - first) * piece.block;
    }
    if (tail > 0) within(last, 0, tail, packed);
  }

  template <Way way>
  static void walk(const Layout& layout, std::byte* base, int64_t count, int64_t offset, std::byte* packed,
                   int64_t length) {
    const int64_t end = layout.size_ * count;
    const int64_t to = length < end - offset ? offset + length : end;
    if (offset < 0 || offset >= to) return;
    if (layout.dense_)
      return move<way>(at(base, layout.true_lower_bound_ + offset), packed, static_cast<size_t>(to - offset));
    if (count == 1) return part<way>(layout, base, offset, to, packed);
    part_of_piece<way>(LayoutMaker::all_of(layout, count), base, offset, to, packed);
  }
};

void Layout::pack(const void* base, int64_t count, int64_t offset, void* out, int64_t length) const {
  LayoutWalk::walk<LayoutWalk::Way::pack>(*this, at(base, 0), count, offset, static_cast<std::byte*>(out), length);
}

void Layout::unpack(void* base, int64_t count, int64_t offset, const void* in, int64_t length) const {
  LayoutWalk::walk<LayoutWalk::Way::unpack>(*this, at(base, 0), count, offset,
                                            const_cast<std::byte*>(static_cast<const std::byte*>(in)), length);
}

}  // namespace tutti
