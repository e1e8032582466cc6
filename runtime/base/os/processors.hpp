// SPDX-License-Identifier: BSD-3-Clause
// Processors as the kernel numbers them, which may be hardware threads of one core.
#pragma once

#include <string>
#include <vector>

namespace tutti {

// Those in a list such as 0-3,8.
std::vector<int> processors_in(const std::string& list);

struct Cores {
  int count = 0;         // those offline are none
  int threads_each = 1;  // hardware threads, of the core with the most
};
// Of a processor that sysfs does not know, a core of its own.
Cores cores_of(const std::vector<int>& processors, const std::string& sysfs = "/sys/devices/system/cpu");

// The cores that Slurm grants where it says that it grants so many processors, SLURM_CPUS_ON_NODE;
// 0: it does not say, or nothing that makes sense.
int cores_by_slurm(const char* cpus_on_node, int threads_each);

}  // namespace tutti
