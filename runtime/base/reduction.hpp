// SPDX-License-Identifier: BSD-3-Clause
// A reduction bound to its datatype, as data: what a collective call carries, and what memory/ has loops for.
#pragma once

#include <cstdint>

namespace tutti {

// apply computes into[i] = left[i] op right[i], i < count. `right` is `into` or lies apart from it, as `left` does. A
// plain value: copied into the running collective.
struct Reduction {
  void (*apply)(const Reduction& self, const void* left, const void* right, void* into, int64_t count) = nullptr;
  bool commutative = true;
  const void* function = nullptr;       // apply's own: a user's function, …
  void* datatype = nullptr;             // … and the handle to hand to it
  bool on_application_threads = false;  // must not be applied by the progress thread
};

}  // namespace tutti
