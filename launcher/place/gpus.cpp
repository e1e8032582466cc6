// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/place/gpus.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "mpi.h"

namespace tutti::launcher {
namespace {

// How many of the rank's processors are near the GPU; one that is not bound is near all.
size_t nearness(const Gpu& gpu, const std::vector<int>& processors) {
  return static_cast<size_t>(std::ranges::count_if(
      processors, [&](int processor) { return std::ranges::count(gpu.processors, processor) > 0; }));
}

}  // namespace

Result<std::vector<std::vector<int>>> deal_gpus(const std::vector<Gpu>& gpus,
                                                const std::vector<std::vector<int>>& processors, int per_rank) {
  if (static_cast<size_t>(per_rank) > gpus.size())
    return failure(MPI_ERR_ARG,
                   "--gpus-per-rank {}: the node has {} GPUs that are seen (of NVIDIA and AMD); give "
                   "each rank fewer",
                   per_rank, gpus.size());
  std::vector<int> users(gpus.size(), 0);
  std::vector<std::vector<int>> out;
  for (const std::vector<int>& mine : processors) {
    std::vector<int>& chosen = out.emplace_back();
    while (chosen.size() < static_cast<size_t>(per_rank)) {
      int best = -1;
      for (int g = 0; g < static_cast<int>(gpus.size()); ++g) {
        if (std::ranges::count(chosen, g)) continue;
        const auto rank_of = [&](int each) {
          const auto at = static_cast<size_t>(each);
          return std::pair(-users[at], nearness(gpus[at], mine));
        };
        // A free GPU far away is better than a near one that another rank computes on.
        if (best < 0 || rank_of(g) > rank_of(best)) best = g;
      }
      chosen.push_back(best);
      ++users[static_cast<size_t>(best)];
    }
    std::ranges::sort(chosen);
  }
  return out;
}

std::vector<std::string> gpu_variables(const std::vector<Gpu>& gpus, const std::vector<int>& mine) {
  std::vector<int> nvidia, amd;
  int nvidia_count = 0, amd_count = 0;
  for (int g = 0; g < static_cast<int>(gpus.size()); ++g) {
    const bool is_nvidia = gpus[static_cast<size_t>(g)].maker == Gpu::Maker::nvidia;
    const int number = is_nvidia ? nvidia_count++ : amd_count++;
    if (std::ranges::count(mine, g)) (is_nvidia ? nvidia : amd).push_back(number);
  }
  std::vector<std::string> out;
  // Where there are GPUs of a maker of which the rank has none, it shall see none.
  if (nvidia_count > 0) {
    out.push_back("CUDA_DEVICE_ORDER=PCI_BUS_ID");  // the order in which they are counted here
    out.push_back(fmt::format("CUDA_VISIBLE_DEVICES={}", fmt::join(nvidia, ",")));
  }
  if (amd_count > 0) out.push_back(fmt::format("ROCR_VISIBLE_DEVICES={}", fmt::join(amd, ",")));
  return out;
}

}  // namespace tutti::launcher
