// SPDX-License-Identifier: BSD-3-Clause
// A transport that delays and reorders what another one delivers, as far as the standard allows:
// messages of one process in one context keep their order, all others may overtake each other, and
// any may be late. What happens to a message depends on the seed and on its number in its stream
// alone, so that a run is repeated as far as the ranks' own timing allows. Passes of progress that
// do nothing are thrown in.
//
// It also offers no short cut for messages that fit at once, so that the engine sees all of them.
#pragma once

#include <cstdint>
#include <memory>

#include "transport/transport.hpp"

namespace tutti::transport {

struct StressOptions {
  bool disturb = false;  // false: only without short cuts
  uint64_t seed = 0;
  int process = 0;
};

// `inner` outlives it.
std::unique_ptr<Transport> stressed(Transport& inner, const StressOptions& options);

}  // namespace tutti::transport
