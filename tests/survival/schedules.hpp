// SPDX-License-Identifier: BSD-3-Clause
// How many schedules of made-up members are tried: the tests of protocols run few of them each time, and many in the long tier.
#pragma once

#include <cstdlib>

namespace tutti {

inline int times(int usually, int in_long_tier) {
  const char* const told = std::getenv("TUTTI_LONG");
  return told && *told == '1' ? in_long_tier : usually;
}

}  // namespace tutti
