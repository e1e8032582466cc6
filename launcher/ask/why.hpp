// SPDX-License-Identifier: BSD-3-Clause
// `tutti why`: what the ranks of running jobs are doing. Looks at this node itself, and asks the
// mpirun of a job, where that runs here, about the other nodes.
#pragma once

#include <string>
#include <vector>

namespace tutti::launcher {

int why_command(const std::vector<std::string>& arguments);

}  // namespace tutti::launcher
