// SPDX-License-Identifier: BSD-3-Clause
// What control groups, version 1 or 2, grant this process of the machine's processors, of its
// process numbers and of its memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tutti {

// Cores' worth of time: the tightest quota of our control group and those above it; 0: no limit.
// In a container the file may name groups of which only the outermost is to be seen, as the root.
double cgroup_quota(const std::string& groups = "/proc/self/cgroup", const std::string& mount = "/sys/fs/cgroup");
// The processors of our control group, whichever of them this process is bound to; none: not known.
std::vector<int> cgroup_processors(const std::string& groups = "/proc/self/cgroup",
                                   const std::string& mount = "/sys/fs/cgroup");

// How many processes and threads our control group, or one above it, may have, and how many it has:
// of the group with the least room. None: there is no limit.
struct CgroupProcesses {
  uint64_t most, used;
};
std::optional<CgroupProcesses> cgroup_processes(const std::string& groups = "/proc/self/cgroup",
                                                const std::string& mount = "/sys/fs/cgroup");
// Bytes of memory: the tightest limit of our control group and those above it; 0: no limit.
uint64_t cgroup_memory(const std::string& groups = "/proc/self/cgroup", const std::string& mount = "/sys/fs/cgroup");
// How many processes of our control group the kernel has killed for want of memory so far. None: nobody counts them.
std::optional<uint64_t> cgroup_memory_kills(const std::string& groups = "/proc/self/cgroup",
                                            const std::string& mount = "/sys/fs/cgroup");

}  // namespace tutti
