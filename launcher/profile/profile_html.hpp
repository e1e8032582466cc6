// SPDX-License-Identifier: BSD-3-Clause
// The page for a browser that mpirun --profile=FILE.html leaves: one file, which asks nobody for anything (view/ has what it
// looks like). Pure.
//
// However many ranks there are, it has some 20 MB at most: time is spent by equal parts of the run, of calls the longest are
// there, of collectives those for whose last rank the others waited longest, and of messages one in so many.
#pragma once

#include <string>
#include <vector>

#include "launcher/data/rank_profile.hpp"

namespace tutti::launcher {

// Of ranks that have kept a timeline; otherwise that part of it is empty.
std::string profile_html(const std::vector<RankProfile>& ranks);

}  // namespace tutti::launcher
