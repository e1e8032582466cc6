// SPDX-License-Identifier: BSD-3-Clause
// Reads what the ranks of this node have left of their profiles in the job's folder, once they are gone, however they ended.
#pragma once

#include <string>
#include <vector>

#include "launcher/data/rank_profile.hpp"

namespace tutti::launcher {

// At the end of its job, on its node: ranks that have not come to their end ended now. Or later, perhaps elsewhere, of a
// folder of all nodes.
enum class ProfileReader { at_once, later };

// By rank. What is no profile of this version of Tutti is left out. Places in sources are looked up by whoever shows them,
// since a node that does so at a job's end seems not to answer.
std::vector<RankProfile> read_profiles(const std::string& folder, ProfileReader reader = ProfileReader::at_once);

}  // namespace tutti::launcher
