// SPDX-License-Identifier: BSD-3-Clause
// The collective calls that the flight records of ranks hold: one rank's, and how two ranks' differ.
#pragma once

#include <string>

#include "launcher/data/rank_view.hpp"

namespace tutti::launcher {

std::string record_text(const RankView& rank);
std::string record_json(const RankView& rank);
// Of two ranks of one job: the first difference, or who is behind whom.
std::string comparison_text(const RankView& a, const RankView& b);
std::string comparison_json(const RankView& a, const RankView& b);

}  // namespace tutti::launcher
