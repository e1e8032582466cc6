// SPDX-License-Identifier: BSD-3-Clause
#include "base/bytes_text.hpp"

#include <fmt/core.h>

#include <cmath>
#include <cstddef>
#include <iterator>
#include <string_view>

namespace tutti {

std::string bytes_text(double bytes) {
  constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1024;
  return fmt::format("{:.{}f} {}", bytes, unit == 0 || bytes >= 100 || bytes == std::floor(bytes) ? 0 : 1,
                     kUnits[unit]);
}

}  // namespace tutti
