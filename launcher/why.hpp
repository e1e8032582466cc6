// SPDX-License-Identifier: BSD-3-Clause
// `tutti why`: what the ranks of a running job are doing, from their flight records
// (base/flight.hpp), which are found through /proc and read without the ranks' help.
#pragma once

#include <string>
#include <vector>

#include "launcher/rank_view.hpp"

namespace tutti::launcher {

// All ranks of this user on this node, of one job where `job` is not empty; by job and rank.
std::vector<RankView> look_at_ranks(const std::string& job);

// For people: ranks that do the same in one group, the odd ones named.
std::string why_text(const std::vector<RankView>& ranks);
std::string why_json(const std::vector<RankView>& ranks);
// The collective calls of two ranks of one job, the first difference first.
std::string compare_records(const RankView& a, const RankView& b);

int why_command(const std::vector<std::string>& arguments);

}  // namespace tutti::launcher
