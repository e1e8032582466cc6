// SPDX-License-Identifier: BSD-3-Clause
// What `mpirun --profile` prints at the end of a job: a page that fits a screen.
#pragma once

#include <string>
#include <vector>

#include "launcher/data/rank_profile.hpp"

namespace tutti::launcher {

// Finds the places of all sites, in files of this machine: those of a job on others are mostly the same, on a file system
// that all share. It may take two seconds.
void find_places(std::vector<RankProfile>& ranks);
// Pure.
std::string profile_page(const std::vector<RankProfile>& ranks);

}  // namespace tutti::launcher
