// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/hardware.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/os/processors.hpp"

namespace tutti {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kScheme = "hwloc://";
constexpr std::array<const char*, kResourceTypes> kNames = {"hwloc://Machine", "hwloc://Package", "hwloc://NUMANode",
                                                            "hwloc://L3Cache", "hwloc://L2Cache", "hwloc://L1Cache",
                                                            "hwloc://Core",    "hwloc://PU"};
// The standard's own word, and those that programs bring along from Open MPI and MPICH.
// clang-format off
constexpr std::pair<std::string_view, ResourceType> kOtherNames[] = {
    {"mpi_shared_memory", kMachine}, {"node", kMachine}, {"host", kMachine},     {"socket", kPackage},
    {"numa", kNumaNode},             {"l3", kL3Cache},   {"l2", kL2Cache},       {"l1", kL1Cache},
    {"hwthread", kProcessor},
};
// clang-format on

std::string line_of(const fs::path& path) {
  std::string line;
  std::ifstream(path) >> line;
  return line;
}

// The processors that share what `list` tells of.
std::vector<int> processors_by(const fs::path& list) {
  return processors_in(line_of(list));
}

std::vector<int> sharers_of_cache(const fs::path& folder, int level) {
  for (int i = 0;; ++i) {
    const fs::path cache = folder / "cache" / ("index" + std::to_string(i));
    const std::string found = line_of(cache / "level");
    if (found.empty()) return {};
    if (found == std::to_string(level) && line_of(cache / "type") != "Instruction")
      return processors_by(cache / "shared_cpu_list");
  }
}

// A processor's folder holds a link to the folder of its node.
std::vector<int> sharers_of_numa_node(const fs::path& folder) {
  std::error_code problem;
  for (auto at = fs::directory_iterator(folder, problem); !problem && at != fs::directory_iterator();
       at.increment(problem)) {
    const std::string name = at->path().filename();
    if (name.starts_with("node") && name.find_first_not_of("0123456789", 4) == std::string::npos)
      return processors_by(at->path() / "cpulist");
  }
  return {};
}

// Linux before 5.2 has the second name.
std::vector<int> sharers_by(const fs::path& topology, const char* list, const char* older) {
  std::vector<int> sharers = processors_by(topology / list);
  return sharers.empty() ? processors_by(topology / older) : sharers;
}

// The processors that a processor shares its resource of this type with, itself among them; empty: the kernel does not
// tell.
std::vector<int> sharers_of(int processor, ResourceType type, const std::string& sysfs) {
  const fs::path folder = sysfs + "/cpu" + std::to_string(processor);
  switch (type) {
      // clang-format off
    case kPackage: return sharers_by(folder / "topology", "package_cpus_list", "core_siblings_list");
    case kNumaNode: return sharers_of_numa_node(folder);
    case kL3Cache: return sharers_of_cache(folder, 3);
    case kL2Cache: return sharers_of_cache(folder, 2);
    case kL1Cache: return sharers_of_cache(folder, 1);
    case kCore: return sharers_by(folder / "topology", "core_cpus_list", "thread_siblings_list");
    default: return {};
      // clang-format on
  }
}

bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

const char* name_of(ResourceType type) {
  return kNames[static_cast<size_t>(type)];
}

std::optional<ResourceType> resource_type_named(std::string_view name) {
  if (same_word(name.substr(0, kScheme.size()), kScheme)) name.remove_prefix(kScheme.size());
  for (int type = 0; type < kResourceTypes; ++type)
    if (same_word(name, std::string_view(name_of(ResourceType{type})).substr(kScheme.size())))
      return ResourceType{type};
  for (const auto& [word, type] : kOtherNames)
    if (same_word(name, word)) return type;
  return std::nullopt;
}

// The lowest processor that shares a resource is its number. Where the kernel tells nothing of them there is one package
// and one NUMA node, and each processor is a core.
int resource_of(const std::vector<int>& processors, ResourceType type, const std::string& sysfs) {
  if (type == kMachine) return 0;
  if (processors.empty()) return kSeveral;
  const int first = processors.front();
  std::vector<int> sharers = sharers_of(first, type, sysfs);
  if (sharers.empty()) {
    if (type == kPackage || type == kNumaNode) return 0;
    if (type != kCore && type != kProcessor) return kNotKnown;
    sharers = {first};
  }
  const auto shares = [&](int processor) { return std::ranges::find(sharers, processor) != sharers.end(); };
  return std::ranges::all_of(processors, shares) ? *std::ranges::min_element(sharers) : kSeveral;
}

std::vector<int> processors_of_this_thread() {
  std::vector<int> processors;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set)) processors.push_back(cpu);
  return processors;
}

}  // namespace tutti
