// SPDX-License-Identifier: BSD-3-Clause
// Regions: memory of some process, as far as it matters for who else can come to it; and the ways of coming to it. Says
// nothing of who the processes are: how this one reaches a region of another one is answered by the transport that serves
// the two (Transport::reach).
#pragma once

#include <cstdint>

namespace tutti::memory {

// Who has it mapped.
enum class Region : uint8_t {
  process,  // its process alone: what a program passes as a buffer, heap, stack
  segment,  // all processes of its job on its node: the segment, with its areas and rings
  mapped,   // this process, too: a file that both have opened
};

// What this process can do with it. A smaller one is there wherever a larger one is.
enum class Reach : uint8_t {
  messages,       // nothing but to ask its process
  kernel_copies,  // have the kernel copy from it and to it, which may be refused at any time (PeerMemory)
  load_store,
};

}  // namespace tutti::memory
