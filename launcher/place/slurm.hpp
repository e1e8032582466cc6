// SPDX-License-Identifier: BSD-3-Clause
// A Slurm allocation as the environment of salloc's shell or sbatch's script describes it: its
// nodes, and how many tasks were asked for on each. Pure functions of the variables' texts; nothing
// of Slurm is called here (its srun starts the daemons: daemons.cpp).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tutti::launcher {

struct SlurmNode {
  std::string name;
  int tasks = 1;
  std::optional<int> cores_per_task{};  // --cpus-per-task, where it was asked for
  int het_group = -1;                   // of a heterogeneous job; -1: of another one
  bool operator==(const SlurmNode&) const = default;
};

struct SlurmAllocation {
  std::string job_id;
  std::string this_node;  // Slurm's name of the node that we run on; empty on a submit host
  std::vector<SlurmNode> nodes;
  // What --distribution, --ntasks-per-socket, --ntasks-per-core and --hint mean as a --map-by; empty: they say nothing.
  std::string map_by;
  std::string note;  // on what of them means nothing here
};

// "node[1-3,7],rack[1-2]n[08-11]": every name, in order; numbers keep their width.
Result<std::vector<std::string>> expand_node_list(std::string_view list);
// "2(x3),1": 2, 2, 2, 1.
Result<std::vector<int>> expand_counts(std::string_view counts);

// Nothing when no allocation is described; an error when one is, and cannot be understood.
using Variable = std::function<const char*(const char* name)>;  // getenv
Result<std::optional<SlurmAllocation>> slurm_allocation(const Variable& variable);

}  // namespace tutti::launcher
