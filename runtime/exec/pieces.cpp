// SPDX-License-Identifier: BSD-3-Clause
#include "exec/pieces.hpp"

#include <algorithm>

#include "base/cpu.hpp"
#include "engine/engine.hpp"
#include "memory/movers.hpp"

namespace tutti::exec {

bool Pieces::takes_turns() const {
  return channel_.engine->takes_turns();
}

bool Pieces::copy(const Step& step) {
  const bool packs = step.from.unit == Unit::packed;
  if (!packs && step.into.unit != Unit::packed) {
    const Payload from = binding_.resolve(step.from), into = binding_.resolve(step.into);
    const int64_t bytes = std::min(from.bytes(), into.bytes());
    if (bytes <= 64 && from.contiguous() && into.contiguous()) {
      memory::copy_short(into.data(), from.data(), static_cast<size_t>(bytes));
      return true;
    }
    return each(bytes, kPiece, [&](int64_t begin, int64_t length) { memory::copy(from, into, begin, length); });
  }
  const Buf& user = packs ? step.from : step.into;
  std::byte* const there = static_cast<std::byte*>(binding_.resolve(packs ? step.into : step.from).base);
  const Payload whole = binding_.packed_whole(user);
  return each(user.count, kPiece, [&](int64_t begin, int64_t length) {
    std::byte* const packed = there + begin;
    if (whole.contiguous()) {
      std::byte* const here = whole.data() + user.offset + begin;
      memory::copy_short(packs ? packed : here, packs ? here : packed, static_cast<size_t>(length));
    } else if (packs) {
      memory::pack(whole, user.offset + begin, packed, length);
    } else {
      memory::unpack(whole, user.offset + begin, packed, length);
    }
  });
}

bool Pieces::reduce(const Step& step) {
  const Payload into = binding_.resolve(step.into);
  return reduce(binding_.resolve(step.from).base, into.base, into.base, into.count);
}

// The result does not depend on where it is cut: operations go element by element.
bool Pieces::reduce(const void* left, const void* right, void* into, int64_t count) {
  const Call& call = binding_.call();
  const Layout& layout = *call.out_layout;
  const int64_t piece = std::max<int64_t>(kPiece / std::max<int64_t>(layout.size(), 1), 1);
  return each(count, piece, [&](int64_t begin, int64_t length) {
    const int64_t offset = begin * layout.extent();
    memory::reduce(call.reduction, moved(left, offset), moved(right, offset), moved(into, offset), length);
  });
}

}  // namespace tutti::exec
