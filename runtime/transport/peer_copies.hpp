// SPDX-License-Identifier: BSD-3-Clause
// What can be done with memory that another process of the node has for itself, without that process: the kernel copies
// (memory/peer_memory.hpp). For who knows where such memory is, and that it may be touched now.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/engine_owned.hpp"
#include "base/layout.hpp"

namespace tutti::transport {

class PeerCopies {
 public:
  // The kernel allows it, as far as is known; the first call for a peer tries.
  virtual bool can_copy(int peer) TUTTI_ENGINE_OWNED = 0;
  // Where it can: all of `into`, packed, out of the peer's memory at `address`; and so many bytes in one run to it. False:
  // it could not, any more or there, and a part may have been copied.
  virtual bool read(int peer, uint64_t address, const Payload& into) TUTTI_ENGINE_OWNED = 0;
  virtual bool write(int peer, uint64_t address, const std::byte* from, int64_t bytes) TUTTI_ENGINE_OWNED = 0;
  // A message to it takes longer than a copy of few bytes: it sleeps, and would have to be woken, or it is of another job.
  // True now, perhaps not a moment later. For who can copy.
  virtual bool hears_late(int peer) TUTTI_ENGINE_OWNED = 0;

 protected:
  ~PeerCopies() = default;
};

}  // namespace tutti::transport
