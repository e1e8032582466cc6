// SPDX-License-Identifier: BSD-3-Clause
// What processes can know of each other's loads and stores, for ThreadSanitizer's view of windows: it decides whether an
// operation of another process on memory of this one is ordered with this one's own accesses. Vector clocks would have to
// travel with each message. Instead:
//
// - A process notes when it may have told others anything (tell()), by the node's clock, and puts what its thread has
//   done before into an order of that moment.
// - An origin knows when it has last heard anything (Listener::stamp()), by the same clock; that travels with its
//   operation. What others had told later it cannot know.
// - A barrier is better than the clock: what the target had done before the one that the origin has left last is known,
//   however long the origin took to return from it.
//
// So what is taken for ordered is at least what is, and now and then more: a race may be missed, but none is made up.
// Processes of different nodes have no common clock: there, all that was told counts as known. Any thread.
#pragma once

#include <cstdint>

#include "mpi/check/race_detector.hpp"

namespace tutti::mpi::knowledge {

// Sets the hooks of object/hearsay.hpp, where the race detector is there.
void open();

// The clock: microseconds, alike for all processes of a node.
uint64_t now();

// What an origin knows when it starts an operation, in the upper 63 bits.
using Stamp = uint64_t;
inline constexpr Stamp kEverything = ~Stamp{1};

// Of one window: what its operations know. Most of what is here costs nothing while there is none.
class Listener {
 public:
  Listener();
  ~Listener();
  Listener(const Listener&) = delete;
  // With what was heard by `also`, of that clock.
  Stamp stamp(uint64_t also) const;

 private:
  friend void hear(uint32_t barrier, const Listener* except);
  uint64_t heard_ = 0;    // by the clock
  uint32_t barrier_ = 0;  // left since then
};

void tell(uint32_t barrier);
// `except`: a window that knows better what its call has told.
void hear(uint32_t barrier, const Listener* except);

// The fiber is behind what whoever has this stamp can know of this process.
void learn(race_detector::Fiber fiber, Stamp stamp);

// Operations of others on memory here that their origins know to be complete: whoever hears anything is behind these.
race_detector::Order& completed();

}  // namespace tutti::mpi::knowledge
