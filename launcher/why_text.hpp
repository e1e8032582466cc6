// SPDX-License-Identifier: BSD-3-Clause
// What ranks are doing, as text for people and as JSON for tools.
#pragma once

#include <string>
#include <vector>

#include "launcher/rank_view.hpp"

namespace tutti::launcher {

// By job: ranks that do the same in one group, the odd ones named.
std::string why_text(const std::vector<RankView>& ranks);
std::string why_json(const std::vector<RankView>& ranks);
std::string json_text(const std::string& text);  // as JSON has it

}  // namespace tutti::launcher
