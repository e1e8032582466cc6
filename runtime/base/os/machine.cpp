// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/machine.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cctype>
#include <cstdint>
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

std::string loopback_device() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return {};
  std::string name;
  for (const ifaddrs* each = all; each && name.empty(); each = each->ifa_next)
    if (each->ifa_addr && each->ifa_addr->sa_family == AF_INET && (each->ifa_flags & IFF_LOOPBACK) &&
        (each->ifa_flags & IFF_UP))
      name = each->ifa_name;
  ::freeifaddrs(all);
  return name;
}

bool is_in_user_namespace() {
  std::ifstream map("/proc/self/uid_map");
  uint64_t inside = 0, outside = 0, count = UINT32_MAX;
  map >> inside >> outside >> count;
  return inside != 0 || outside != 0 || count != UINT32_MAX;
}

NetworkPlace network_place() {
  struct stat space{};
  if (stat("/proc/thread-self/ns/net", &space) != 0 || loopback_device().empty()) return {};
  return {this_boot(), space.st_ino};
}

}  // namespace tutti
