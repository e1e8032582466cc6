// SPDX-License-Identifier: BSD-3-Clause
// The part of a window that is this process' own: where the displacements of others' operations lead.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/engine_owned.hpp"
#include "base/layout.hpp"
#include "rma/attached.hpp"
#include "rma/operation.hpp"

namespace tutti::rma {

class OwnMemory {
 public:
  // Before the window is open.
  void set_base(void* base) TUTTI_ENGINE_OWNED { base_ = static_cast<std::byte*>(base); }
  // Likewise: other processes change it, too.
  void set_guard(Stripes& stripes) TUTTI_ENGINE_OWNED { stripes_ = &stripes; }
  Guard guard() const { return {stripes_, base_}; }
  // Likewise: displacements are addresses.
  void set_dynamic() TUTTI_ENGINE_OWNED { dynamic_ = true; }
  bool is_dynamic() const { return dynamic_; }
  bool attach(void* base, int64_t size) TUTTI_ENGINE_OWNED {  // false: it overlaps what is attached
    const auto begin = reinterpret_cast<uintptr_t>(base);
    return attached_.attach(begin, begin + static_cast<uintptr_t>(size));
  }
  bool detach(const void* base) TUTTI_ENGINE_OWNED {  // false: nothing was attached there
    return attached_.detach(reinterpret_cast<uintptr_t>(base));
  }

  uintptr_t address_of(int64_t displacement) const {
    return (dynamic_ ? 0 : reinterpret_cast<uintptr_t>(base_)) + static_cast<uintptr_t>(displacement);
  }
  Payload at(const TargetBuffer& buffer) const {
    return {reinterpret_cast<void*>(address_of(buffer.displacement)), buffer.count, buffer.layout};
  }
  // Of a dynamic window: is all of the buffer attached? `missed`: the first bytes that are not. In other windows
  // origins know what there is, and have looked. A layout may begin below the displacement, which may itself be any
  // number: sums are signed.
  bool holds(const TargetBuffer& buffer, Layout::Run& missed) const TUTTI_ENGINE_OWNED {
    return buffer.layout->all_runs(
        buffer.displacement, buffer.count,
        [this](const Layout::Run& run) TUTTI_ENGINE_OWNED { return attached_.holds(run.low, run.high); }, missed);
  }

 private:
  std::byte* base_ = nullptr;
  Stripes* stripes_ = nullptr;
  bool dynamic_ = false;
  Attached attached_ TUTTI_OWNERS;
};

}  // namespace tutti::rma
