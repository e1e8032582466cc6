// SPDX-License-Identifier: BSD-3-Clause
// What `mpirun --profile` prints at the end of a job: a page that fits a screen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "launcher/data/rank_profile.hpp"
#include "launcher/profile/profile_sums.hpp"

namespace tutti::launcher {

// Finds the places of all sites, in files of this machine: those of a job on others are mostly the same, on a file system
// that all share. It may take two seconds.
void find_places(std::vector<RankProfile>& ranks);
// Pure.
// One sentence on what costs most, where it has a cause that can be named; otherwise nothing.
std::string profile_hint(const ProfileSums& sums);
// "late sender: rank 2, 87 %" of the kind for which a place waited longest, where it is a thousandth of the time of all
// ranks, `whole`.
std::string place_reason(const PlaceSums& place, int64_t whole);
std::string wait_kind_text(size_t kind);
std::string profile_page(const std::vector<RankProfile>& ranks);

}  // namespace tutti::launcher
