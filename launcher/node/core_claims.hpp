// SPDX-License-Identifier: BSD-3-Clause
// Which processors of this machine the jobs of a user are bound to: each node of a job writes a short record in /dev/shm,
// which is gone with the job's other files there. A record counts while the process that wrote it lives, so that one
// which was left behind takes nothing from anybody. Other users' jobs are not seen.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace tutti::launcher {

struct Claims {
  std::vector<int> taken;  // by other jobs
  bool certain = true;     // nobody else chooses meanwhile
};

// Calls `choose` with what other jobs have, and records the processors that it returns. Jobs of a user choose one after
// the other, by a lock that other users cannot take. Where it is held for longer than `patience`, which is many times
// what choosing takes, another job may take the same processors at the same moment, and `choose` is told so. Returns why
// there is no such lock here, where there is none; empty: there was.
std::string claim_processors(const std::string& job_id, const std::function<std::vector<int>(const Claims&)>& choose,
                             std::chrono::milliseconds patience = std::chrono::milliseconds(300),
                             const std::string& place = "/dev/shm");

}  // namespace tutti::launcher
