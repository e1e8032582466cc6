// SPDX-License-Identifier: BSD-3-Clause
// What tells one machine from another, whatever job asks.
#pragma once

#include <cstdint>
#include <string>

namespace tutti {

// The kernel that runs here since it was started; 0: not known.
uint64_t this_boot();

// The name of the loopback device; empty: there is none that is up.
std::string loopback_device();

// Whether the kernel counts users of this process by themselves, as in a rootless container. It lets such a process read
// no memory of one whose users are counted otherwise, or by another such container.
bool is_in_user_namespace();

// Where this thread's sockets are: processes for which it is equal, and known, reach each other over the loopback
// device.
struct NetworkPlace {
  uint64_t boot = 0, space = 0;  // the network namespace
  bool operator==(const NetworkPlace&) const = default;
  bool known() const { return boot != 0 && space != 0; }
};
NetworkPlace network_place();  // not known also where the device is down

}  // namespace tutti
