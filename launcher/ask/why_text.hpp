// SPDX-License-Identifier: BSD-3-Clause
// What ranks are doing, as text for people and as JSON for tools.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "launcher/data/rank_view.hpp"

namespace tutti::launcher {

// By job: ranks that do the same in one group, the odd ones named.
// `jobs`: the names of jobs by RankView::job_number, beside those of `ranks`.
using JobNames = std::map<uint64_t, std::string>;
std::string why_text(const std::vector<RankView>& ranks, JobNames jobs = {});
std::string why_json(const std::vector<RankView>& ranks, JobNames jobs = {});

}  // namespace tutti::launcher
