// SPDX-License-Identifier: BSD-3-Clause
// What is decided of a job before anything of it starts: from its options, settings and allocation to the task of each
// node. Nothing here talks to a node; what nodes have is given.
#pragma once

#include <string>
#include <vector>

#include "base/config.hpp"
#include "base/result.hpp"
#include "launcher/data/job_map.hpp"
#include "launcher/place/hosts.hpp"
#include "launcher/place/placement.hpp"
#include "launcher/place/run_options.hpp"

namespace tutti::launcher {

struct LaunchPlan {
  RunOptions options;
  Config config;
  Allocation allocation;
  MapPolicy policy;
  BindTo bind_to;
};

Result<LaunchPlan> make_plan(RunOptions options);

// How daemons are started: by this command, or by srun.
std::string remote_shell(const LaunchPlan& plan);
bool by_srun(const LaunchPlan& plan);

// A node says how much it has before it knows what --cpu-set leaves of that.
NodeShape shape_within(const LaunchPlan& plan, NodeShape shape);

// The same for every node. `shapes`: of the allocation's hosts.
Result<NodeTask> make_task(const LaunchPlan& plan, const std::string& job_id, const std::vector<NodeShape>& shapes);
// What a rank is given by --map-by must be there; how many ranks share cores is told where a person reads who has not
// asked for it: test suites take any line on standard error for a failure.
Error check_cores(const NodeTask& task, const std::vector<NodeShape>& shapes, bool tells_of_crowds);
bool tells_of_crowds(const LaunchPlan& plan);
// More nodes than the ranks fill: the others take no part. Returns the hosts that stay.
std::vector<int> drop_unused_nodes(JobMap& map);

// By the name that the user's shell has for it (PWD), or without symbolic links. Empty, and errno says why: it is gone,
// or may not be seen.
std::string current_folder(bool as_called = true);

}  // namespace tutti::launcher
