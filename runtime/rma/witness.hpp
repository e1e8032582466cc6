// SPDX-License-Identifier: BSD-3-Clause
// Who hears, under --check=strict, of what is served at this process' memory, and talks to its like at the other
// processes of the window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/engine_owned.hpp"
#include "rma/operation.hpp"

namespace tutti::rma {

class Witness {
 public:
  virtual ~Witness() = default;
  // An operation of `origin` is about to be served; `mark` is what its origin set (OriginSide::set_mark()).
  virtual void serves(int origin, uint64_t mark, const Act& act, const TargetBuffer& buffer) TUTTI_ENGINE_OWNED = 0;
  // All that `origin` has asked for is complete here, and it is about to be told so.
  virtual void completes(int origin) TUTTI_ENGINE_OWNED = 0;
  // What the witness of `from` has to say.
  virtual void hears(int from, std::span<const std::byte> bytes) TUTTI_ENGINE_OWNED = 0;
};

}  // namespace tutti::rma
