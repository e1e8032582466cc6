// SPDX-License-Identifier: BSD-3-Clause
#include "base/machine.hpp"

#include <sys/stat.h>

#include <cctype>
#include <fstream>

namespace tutti {

uint64_t this_boot() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  uint64_t boot = 0;
  int digits = 0;
  for (char c = 0; digits < 16 && file.get(c);)
    if (std::isxdigit(static_cast<unsigned char>(c))) {
      const int value = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
      boot = boot << 4 | static_cast<uint64_t>(value);
      ++digits;
    }
  return digits == 16 ? boot : 0;
}

SharedPlace shared_place() {
  struct stat about {};
  return {this_boot(), stat("/dev/shm", &about) == 0 ? about.st_dev : 0};
}

}  // namespace tutti
