// SPDX-License-Identifier: BSD-3-Clause
// A layout as bytes: the parts that it is made of, each once and before what uses it, itself last.
#include <unordered_map>
#include <utility>

#include "base/layout.hpp"

namespace tutti {

struct LayoutOnWire {
  using Piece = Layout::Piece;
  static constexpr uint32_t kNoPart = ~uint32_t{0};

  struct Head {
    int64_t size, extent, lower_bound, true_lower_bound, true_extent, alignment;
    uint8_t bounds_were_set, dense, one_run;
    uint32_t pieces;
  };
  struct WirePiece {
    int64_t block, count, stride, displacement, packed_before;
    uint32_t element;
  };

  using Numbers = std::unordered_map<const Layout*, uint32_t>;

  // Numbers count from 0 in the order of writing.
  static uint32_t write(const Layout& layout, Bytes& to, Numbers& numbers) {
    if (const auto known = numbers.find(&layout); known != numbers.end()) return known->second;
    if (layout.pieces_)
      for (const Piece& piece : *layout.pieces_)
        if (piece.element) write(*piece.element, to, numbers);
    Head head{};
    head.size = layout.size_;
    head.extent = layout.extent_;
    head.lower_bound = layout.lower_bound_;
    head.true_lower_bound = layout.true_lower_bound_;
    head.true_extent = layout.true_extent_;
    head.alignment = layout.alignment_;
    head.bounds_were_set = layout.bounds_were_set_;
    head.dense = layout.dense_;
    head.one_run = layout.is_one_run();
    head.pieces = layout.pieces_ ? static_cast<uint32_t>(layout.pieces_->size()) : 0;
    put(to, head);
    if (layout.pieces_)
      for (const Piece& piece : *layout.pieces_)
        put(to, WirePiece{piece.block, piece.count, piece.stride, piece.displacement, piece.packed_before,
                          piece.element ? numbers.at(piece.element.get()) : kNoPart});
    const auto number = static_cast<uint32_t>(numbers.size());
    numbers.emplace(&layout, number);
    return number;
  }

  static LayoutRef read(std::span<const std::byte>& from, const std::vector<LayoutRef>& parts) {
    Head head;
    if (!get(from, head)) return nullptr;
    std::shared_ptr<Layout> layout(new Layout);
    layout->size_ = head.size;
    layout->extent_ = head.extent;
    layout->lower_bound_ = head.lower_bound;
    layout->true_lower_bound_ = head.true_lower_bound;
    layout->true_extent_ = head.true_extent;
    layout->alignment_ = head.alignment;
    layout->bounds_were_set_ = head.bounds_were_set;
    layout->dense_ = head.dense;
    if (head.one_run) return layout;
    if (head.pieces > from.size() / sizeof(WirePiece)) return nullptr;
    Layout::Pieces pieces(head.pieces);
    for (Piece& piece : pieces) {
      WirePiece wire;
      if (!get(from, wire)) return nullptr;
      if (wire.element != kNoPart && wire.element >= parts.size()) return nullptr;
      piece = {.element = wire.element == kNoPart ? nullptr : parts[wire.element],
               .block = wire.block,
               .count = wire.count,
               .stride = wire.stride,
               .displacement = wire.displacement,
               .packed_before = wire.packed_before};
    }
    layout->pieces_ = std::make_shared<const Layout::Pieces>(std::move(pieces));
    return layout;
  }
};

void Layout::write(Bytes& to) const {
  const size_t start = to.size();
  put(to, uint32_t{0});
  LayoutOnWire::Numbers numbers;
  LayoutOnWire::write(*this, to, numbers);
  const auto count = static_cast<uint32_t>(numbers.size());
  std::memcpy(to.data() + start, &count, sizeof count);
}

LayoutRef Layout::read(std::span<const std::byte>& from) {
  uint32_t count;
  if (!get(from, count) || count == 0 || count > from.size()) return nullptr;
  std::vector<LayoutRef> parts;
  while (parts.size() < count) {
    LayoutRef part = LayoutOnWire::read(from, parts);
    if (!part) return nullptr;
    parts.push_back(std::move(part));
  }
  return parts.back();
}

}  // namespace tutti
