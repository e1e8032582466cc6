// SPDX-License-Identifier: BSD-3-Clause
// The ranks of running jobs as they are seen from this node: by themselves, or by asking the mpirun of a job.
#pragma once

#include <string>
#include <vector>

#include "launcher/data/rank_groups.hpp"
#include "launcher/data/rank_view.hpp"

namespace tutti::launcher {

// All ranks that can be seen from here, of the jobs whose name contains `job_name`, by job and rank; and what is to be said about
// those that cannot. `question`: whose collective calls are wanted, or that groups are; its number does not matter.
JobView find_ranks(const std::string& job_name, const Question& question);

}  // namespace tutti::launcher
