// SPDX-License-Identifier: BSD-3-Clause
#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "mpi/env/api_hardware.hpp"
#include "mpi/object/inventory.hpp"

namespace tutti::mpi {
namespace {

// The processors that this process is bound to, or all that it may use.
std::set<int> allowed_processors() {
  std::set<int> allowed;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return allowed;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) allowed.insert(cpu);
  return allowed;
}

std::filesystem::path folder_of(int cpu) {
  return "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string text;
  std::getline(in, text);
  return text;
}

// Its folder holds a link to the folder of its node.
std::string numa_node_of(int cpu) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder_of(cpu), ignored))
    if (std::string name = entry.path().filename(); name.starts_with("node")) return name;
  return "node0";
}

template <class ResourceOf>
const char* on_one(const std::set<int>& processors, ResourceOf resource_of) {
  std::set<std::string> resources;
  for (const int cpu : processors) resources.insert(resource_of(cpu));
  return resources.size() == 1 ? "true" : "false";
}

}  // namespace

Error get_hw_resource_info(MPI_Info* hw_info) {
  const std::set<int> processors = allowed_processors();
  const auto package = [](int cpu) {
    return text_of(folder_of(cpu) / "topology/physical_package_id");
  };
  const auto core = [&](int cpu) {
    return package(cpu) + ":" + text_of(folder_of(cpu) / "topology/core_id");
  };
  *hw_info =
      inventory::hand_out(*new Info({{"hwloc://Machine", "true"},
                                     {"hwloc://Package", on_one(processors, package)},
                                     {"hwloc://NUMANode", on_one(processors, numa_node_of)},
                                     {"hwloc://Core", on_one(processors, core)},
                                     {"hwloc://PU", processors.size() == 1 ? "true" : "false"}}));
  return {};
}

}  // namespace tutti::mpi
