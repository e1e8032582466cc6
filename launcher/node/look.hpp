// SPDX-License-Identifier: BSD-3-Clause
// Looks at the ranks of this node: what each is doing, from its flight record (base/flight.hpp),
// which is found through /proc and read without the rank's help, and from the kernel.
#pragma once

#include <string>
#include <vector>

#include "launcher/data/rank_groups.hpp"
#include "launcher/data/rank_view.hpp"

namespace tutti::launcher {

// Takes from all texts what a terminal would obey: they are the program's, or come over a wire.
void make_printable(RankView& view);
void make_printable(RankGroup& group);

// All ranks of this (effective) user on this node, of the jobs whose name contains `job`; by job and rank.
std::vector<RankView> look_at_ranks(const std::string& job, const std::vector<int>& records_of = {});

}  // namespace tutti::launcher
