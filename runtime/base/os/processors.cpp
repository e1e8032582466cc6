// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/processors.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

namespace tutti {
namespace {

constexpr int kMostProcessors = 1 << 16;

std::string line_of(const std::string& path) {
  std::string line;
  std::ifstream(path) >> line;
  return line;
}

}  // namespace

std::vector<int> processors_in(const std::string& list) {
  std::vector<int> found;
  std::istringstream ranges(list);
  for (std::string range; std::getline(ranges, range, ',');) {
    int first = 0, last = 0;
    const int read = std::sscanf(range.c_str(), "%d-%d", &first, &last);
    if (read < 1) continue;
    if (read == 1) last = first;
    for (int i = std::max(first, 0); i <= std::min(last, kMostProcessors); ++i) found.push_back(i);
  }
  return found;
}

Cores cores_of(const std::vector<int>& processors, const std::string& sysfs) {
  Cores cores;
  std::set<std::string> seen;
  for (const int processor : processors) {
    const std::string folder = sysfs + "/cpu" + std::to_string(processor);
    if (line_of(folder + "/online") == "0") continue;
    std::string threads = line_of(folder + "/topology/core_cpus_list");
    if (threads.empty()) threads = line_of(folder + "/topology/thread_siblings_list");  // before 5.2
    if (threads.empty()) threads = std::to_string(processor);
    if (!seen.insert(threads).second) continue;
    ++cores.count;
    cores.threads_each = std::max(cores.threads_each, static_cast<int>(processors_in(threads).size()));
  }
  return cores;
}

int cores_by_slurm(const char* cpus_on_node, int threads_each) {
  if (!cpus_on_node) return 0;
  int granted = 0;
  const char* const end = cpus_on_node + std::strlen(cpus_on_node);
  const auto [behind, problem] = std::from_chars(cpus_on_node, end, granted);
  if (problem != std::errc() || behind != end || granted <= 0) return 0;
  return granted / threads_each + (granted % threads_each != 0);
}

}  // namespace tutti
