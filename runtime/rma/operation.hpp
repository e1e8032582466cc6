// SPDX-License-Identifier: BSD-3-Clause
// What an operation on a window is (the standard, section 12.3), by whatever way it goes: at its origin, and as its
// target meets it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/layout.hpp"
#include "base/result.hpp"
#include "rma/arithmetic.hpp"

namespace tutti::rma {

// In the place of a rank: everybody in the window.
inline constexpr int kAll = -1;

// ---- at the origin

// A layout as a call has it, whose datatype holds it meanwhile: who needs it for longer takes a LayoutRef of it. Of bytes
// if there is none.
class LayoutOfCall {
 public:
  LayoutOfCall() = default;
  LayoutOfCall(const LayoutRef& layout) : held_(&layout) {}
  const Layout* get() const { return held_ ? held_->get() : &Layout::bytes(); }
  const Layout& operator*() const { return *get(); }
  const Layout* operator->() const { return get(); }
  operator LayoutRef() const { return held_ ? *held_ : LayoutRef(LayoutRef(), &Layout::bytes()); }

 private:
  const LayoutRef* held_ = nullptr;
};

// `count` elements of `layout` at `base`, here.
struct Local {
  void* base = nullptr;
  int64_t count = 0;
  LayoutOfCall layout;

  Payload payload() const { return {base, count, layout.get()}; }
};

// And there. `displacement`: bytes from the start of the window's part, or an address where memory
// was attached.
struct Target {
  int rank = 0;
  int64_t displacement = 0;
  int64_t count = 0;
  LayoutOfCall layout;
};

// Called once, with the engine owned, when an operation is locally complete: perhaps before the
// call that started it returns.
struct Done {
  void (*call)(void* owner, Error error) = nullptr;
  void* owner = nullptr;
};

// The bytes that `count` elements touch, counted from their address: [low, high), empty if none.
struct Reach {
  __int128 low = 0, high = 0;
};
inline Reach reach_of(int64_t count, const Layout& layout) {
  if (count == 0 || layout.size() == 0) return {};
  const __int128 last = static_cast<__int128>(count - 1) * layout.extent();
  const __int128 low = layout.true_lower_bound(), high = low + layout.true_extent();
  return {low + std::min<__int128>(last, 0), high + std::max<__int128>(last, 0)};
}

// ---- at the target

enum class AccessKind : uint8_t { get, put, update };

struct Act {
  AccessKind kind = AccessKind::get;
  bool fetches = false;  // an update whose result comes back
  Update update = {};    // its operation may be kCompareAndSwap
};

// An update that changes nothing reads.
inline bool is_read(const Act& act) {
  return act.kind == AccessKind::get || (act.kind == AccessKind::update && act.update.operation == kNoOp);
}

inline bool brings_data(const Act& act) {
  return act.kind == AccessKind::get || act.fetches;
}

// Where it acts: `count` elements of `layout`, the first one at `displacement`, which is as in Target.
struct TargetBuffer {
  int64_t displacement = 0;
  int64_t count = 0;
  const Layout* layout = &Layout::bytes();
};

}  // namespace tutti::rma
