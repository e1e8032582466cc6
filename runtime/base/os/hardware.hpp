// SPDX-License-Identifier: BSD-3-Clause
// The parts of its machine that a process is bound to: what MPI calls hardware resources, by the names of hwloc.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tutti {

// From the largest to the smallest; numbers of an array's elements.
// clang-format off
enum ResourceType : int { kMachine, kPackage, kNumaNode, kL3Cache, kL2Cache, kL1Cache, kCore, kProcessor, kResourceTypes };
// clang-format on

// "hwloc://NUMANode", as MPI_Get_hw_resource_info has it.
const char* name_of(ResourceType type);
// The type of such a name, also without "hwloc://", in any case, or in the words of other implementations; nullopt: it
// is none that is known.
std::optional<ResourceType> resource_type_named(std::string_view name);

// Where a resource should be told: processors have parts in several of the type, or the kernel does not tell of them.
inline constexpr int kSeveral = -1, kNotKnown = -2;

// The resource that all of these processors are part of, by what `sysfs` tells: a number from 0 that no other resource
// of this type has on the machine, or one of the two above.
int resource_of(const std::vector<int>& processors, ResourceType type,
                const std::string& sysfs = "/sys/devices/system/cpu");
// The processors that this thread may run on. Empty: there are more than the C library's set has room for.
std::vector<int> processors_of_this_thread();

}  // namespace tutti
