// SPDX-License-Identifier: BSD-3-Clause
#include "base/cgroup.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

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

// Processors in a list such as 0-3,8.
int length_of(const std::string& list) {
  int count = 0;
  std::istringstream ranges(list);
  for (std::string range; std::getline(ranges, range, ',');) {
    int first = 0, last = 0;
    const int read = std::sscanf(range.c_str(), "%d-%d", &first, &last);
    if (read >= 1) count += read == 2 ? last - first + 1 : 1;
  }
  return count;
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
    if (const double quota = quota_of(folder); quota > 0)
      tightest = tightest > 0 ? std::min(tightest, quota) : quota;
    return false;
  });
  return tightest;
}

int cgroup_processors(const std::string& groups, const std::string& mount) {
  int count = 0;
  each_folder(groups, mount, "cpuset", [&](const std::string& folder) {
    for (const char* name : {"/cpuset.cpus.effective", "/cpuset.effective_cpus", "/cpuset.cpus"}) {
      std::string list;
      if (std::ifstream(folder + name) >> list) count = length_of(list);
      if (count > 0) return true;
    }
    return false;
  });
  return count;
}

}  // namespace tutti
