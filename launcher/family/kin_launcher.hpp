// SPDX-License-Identifier: BSD-3-Clause
// The launcher of a job that a client of PMIx has asked for, as a process: what it is started with, and what it finds.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace tutti::launcher {

// Who has spawned the job, "namespace:rank". What such a launcher has from the one that has started it:
inline constexpr const char* kSpawnedByVariable = "TUTTI_SPAWNED_BY";
inline constexpr int kKinFd = 3;    // a socket for words between kin
inline constexpr int kWordsFd = 4;  // another one, for its errors, until the job runs

struct KinLauncher {
  int pid = -1;
  int kin = -1, words = -1;  // our ends; the caller closes them
};

// `arguments`: of an mpirun. Its output goes where ours does.
Result<KinLauncher> start_kin_launcher(const std::vector<std::string>& arguments, std::vector<std::string> environment,
                                       const std::string& spawned_by);

// What has been said there by now, without the last end of a line.
std::string words_from(int fd);

}  // namespace tutti::launcher
