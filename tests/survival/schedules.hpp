// SPDX-License-Identifier: BSD-3-Clause
// How many schedules of made-up members are tried: the tests of protocols run few of them each time, and many in the long tier,
// of which a sanitizer, under which each takes much longer, sees a tenth.
#pragma once

#include <cstdlib>

namespace tutti {

inline int times(int usually, int in_long_tier) {
  const char* const told = std::getenv("TUTTI_LONG");
  if (!told || *told != '1') return usually;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  in_long_tier /= 10;
#endif
  return in_long_tier < usually ? usually : in_long_tier;
}

}  // namespace tutti
