// SPDX-License-Identifier: BSD-3-Clause
// Where the ranks of a job run, in few bytes: what is regular takes a range, and a rank that is placed anywhere the number of
// its node alone, in two bytes up to 8,192 nodes and three up to a million.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/data/rank_map.hpp"

namespace tutti::launcher {

// Of ranges that follow each other without a gap.
std::string compact_ranges(const std::vector<RankRange>& ranges);
// Nothing: the bytes are no such text, or name more nodes or ranks than is believed of one.
std::optional<std::vector<RankRange>> expand_ranges(std::string_view text);

}  // namespace tutti::launcher
