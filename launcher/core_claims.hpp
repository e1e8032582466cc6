// SPDX-License-Identifier: BSD-3-Clause
// Which processors of this machine the jobs of a user are bound to: each node of a job writes a short record in /dev/shm,
// which is gone with the job's other files there. A record counts while the process that wrote it lives, so that one
// which was left behind takes nothing from anybody. Other users' jobs are not seen.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace tutti::launcher {

// Calls `choose` with the processors that other jobs have, and records those that it returns. Nobody else chooses
// meanwhile, unless the lock is held for longer than choosing takes; then it is done without.
void claim_processors(const std::string& job_id,
                      const std::function<std::vector<int>(const std::vector<int>& taken)>& choose);

}  // namespace tutti::launcher
