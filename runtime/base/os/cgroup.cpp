// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/cgroup.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/os/processors.hpp"

namespace tutti {
namespace {

// Cores that the quota in `folder` grants, or 0 for no limit.
double quota_of(const std::string& folder) {
  std::ifstream two(folder + "/cpu.max");
  std::string quota;
  double period = 0, amount = 0;
  if (two >> quota >> period) {
    amount = std::atof(quota.c_str());  // "max": 0
  } else {
    std::ifstream one(folder + "/cpu.cfs_quota_us"), per(folder + "/cpu.cfs_period_us");
    if (!(one >> amount) || !(per >> period)) return 0;  // -1: none
  }
  return amount > 0 && period > 0 ? amount / period : 0;
}

// Visits the folder of our group under this controller, then those above it, until one is enough.
template <class Visit>
void each_folder(const std::string& groups, const std::string& mount, const std::string& controller,
                 Visit&& is_enough) {
  std::ifstream file(groups);
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string root = mount;
    if (!controllers.empty()) {  // version 1
      if (("," + controllers + ",").find("," + controller + ",") == std::string::npos) continue;
      root += "/" + controllers;
    }
    for (std::string path = line.substr(second + 1);; path = path.substr(0, path.rfind('/'))) {
      if (is_enough(root + path)) return;
      if (path.empty() || path.find('/') == path.npos) break;
    }
  }
}

}  // namespace

double cgroup_quota(const std::string& groups, const std::string& mount) {
  double tightest = 0;
  each_folder(groups, mount, "cpu", [&](const std::string& folder) {
    if (const double quota = quota_of(folder); quota > 0) tightest = tightest > 0 ? std::min(tightest, quota) : quota;
    return false;
  });
  return tightest;
}

std::vector<int> cgroup_processors(const std::string& groups, const std::string& mount) {
  std::vector<int> processors;
  each_folder(groups, mount, "cpuset", [&](const std::string& folder) {
    for (const char* name : {"/cpuset.cpus.effective", "/cpuset.effective_cpus", "/cpuset.cpus"}) {
      std::string list;
      if (std::ifstream(folder + name) >> list) processors = processors_in(list);
      if (!processors.empty()) return true;
    }
    return false;
  });
  return processors;
}

std::optional<CgroupProcesses> cgroup_processes(const std::string& groups, const std::string& mount) {
  std::optional<CgroupProcesses> tightest;
  const auto room = [](const CgroupProcesses& p) { return p.most > p.used ? p.most - p.used : 0; };
  each_folder(groups, mount, "pids", [&](const std::string& folder) {
    CgroupProcesses found{};
    // "max", which is no number, says that there is no limit.
    if (std::ifstream(folder + "/pids.max") >> found.most && std::ifstream(folder + "/pids.current") >> found.used &&
        (!tightest || room(found) < room(*tightest)))
      tightest = found;
    return false;
  });
  return tightest;
}

uint64_t cgroup_memory(const std::string& groups, const std::string& mount) {
  uint64_t tightest = 0;
  each_folder(groups, mount, "memory", [&](const std::string& folder) {
    for (const char* name : {"/memory.max", "/memory.limit_in_bytes"}) {
      uint64_t bytes = 0;
      // Version 1 says that there is no limit by a number that no machine has.
      if (std::ifstream(folder + name) >> bytes && bytes > 0 && bytes < uint64_t{1} << 60)
        tightest = tightest > 0 ? std::min(tightest, bytes) : bytes;
    }
    return false;
  });
  return tightest;
}

std::optional<uint64_t> cgroup_memory_kills(const std::string& groups, const std::string& mount) {
  std::optional<uint64_t> kills;
  each_folder(groups, mount, "memory", [&](const std::string& folder) {
    for (const char* name : {"/memory.events", "/memory.oom_control"}) {
      std::ifstream file(folder + name);
      std::string word;
      for (uint64_t count = 0; !kills && file >> word >> count;)
        if (word == "oom_kill") kills = count;
    }
    return kills.has_value();  // those above count it, too, and those of others
  });
  return kills;
}

}  // namespace tutti
