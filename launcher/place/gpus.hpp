// SPDX-License-Identifier: BSD-3-Clause
// Which GPUs of a node each of its ranks is given (--gpus-per-rank): those near its processors first.
// Pure functions; the GPUs are found by topology.hpp.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "launcher/place/topology.hpp"

namespace tutti::launcher {

// For each rank the numbers of its GPUs. Ranks share them in turn where there are too few; it is an
// error if a single rank asks for more than the node has.
Result<std::vector<std::vector<int>>> deal_gpus(const std::vector<Gpu>& gpus,
                                                const std::vector<std::vector<int>>& processors, int per_rank);
// "CUDA_VISIBLE_DEVICES=0,1" and its kin: numbers count the GPUs of one maker.

std::vector<std::string> gpu_variables(const std::vector<Gpu>& gpus, const std::vector<int>& mine);

}  // namespace tutti::launcher
