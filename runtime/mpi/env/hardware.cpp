// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/hardware.hpp"

#include "mpi/env/api_hardware.hpp"
#include "mpi/object/inventory.hpp"

namespace tutti::mpi::env {

Error get_hw_resource_info(MPI_Info* hw_info) {
  const std::vector<int> processors = processors_of_this_thread();
  std::vector<Info::Entry> entries;
  for (int type = 0; type < kResourceTypes; ++type)
    if (const int which = resource_of(processors, ResourceType{type}); which != kNotKnown)
      entries.emplace_back(name_of(ResourceType{type}), which == kSeveral ? "false" : "true");
  *hw_info = inventory::hand_out(*new Info(std::move(entries)));
  return {};
}

}  // namespace tutti::mpi::env
