// SPDX-License-Identifier: BSD-3-Clause
// What tells one machine from another, whatever job asks.
#pragma once

#include <cstdint>

namespace tutti {

// The kernel that runs here since it was started; 0: not known.
uint64_t this_boot();

// The memory that processes share by files here: equal for two of one machine that see one /dev/shm, in whatever
// container, and else different.
struct SharedPlace {
  uint64_t boot = 0, device = 0;
  bool operator==(const SharedPlace&) const = default;
};
SharedPlace shared_place();

}  // namespace tutti
