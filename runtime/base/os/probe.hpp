// SPDX-License-Identifier: BSD-3-Clause
// Whether this process may still have some threads and descriptors, and how many of the latter it has. Libraries tell of such a lack
// in words of their own, or by a crash; so what they are about to take is tried before they do.
// Another process of the user may take it in between: the libraries' own words remain for that.
#pragma once

#include "base/result.hpp"

namespace tutti {

// All at the same time; they are given back at once. The sentence names the limits.
Error probe_threads(int count);
Error probe_descriptors(int count);

// How many this process has open; or `otherwise`, where /proc does not tell.
int count_descriptors(int otherwise);

}  // namespace tutti
