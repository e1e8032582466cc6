// SPDX-License-Identifier: BSD-3-Clause
// Amounts of bytes as people read them: "64 KiB", "1.5 MiB", "768 B".
#pragma once

#include <string>

namespace tutti {

// Not negative; may be a mean.
std::string bytes_text(double bytes);

}  // namespace tutti
