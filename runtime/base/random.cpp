// SPDX-License-Identifier: BSD-3-Clause
#include "base/random.hpp"

#include <fmt/format.h>
#include <sys/random.h>

namespace tutti {

uint64_t random_word() {
  uint64_t word = 0;
  // The kernel gives as few bytes whole, or none.
  while (::getrandom(&word, sizeof word, 0) != sizeof word) continue;
  return word;
}

std::string random_hex(size_t bytes) {
  std::string out;
  for (size_t i = 0; i < bytes; ++i) out += fmt::format("{:02x}", random_word() & 0xff);
  return out;
}

}  // namespace tutti
