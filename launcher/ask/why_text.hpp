// SPDX-License-Identifier: BSD-3-Clause
// What ranks are doing, as text for people and as JSON for tools.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "launcher/data/rank_groups.hpp"
#include "launcher/data/rank_view.hpp"

namespace tutti::launcher {

// By job: ranks that do the same in one group, the odd ones named, and those that have failed.
// `jobs`: the names of jobs by RankView::job_number, beside those of the ranks that are seen.
using JobNames = std::map<uint64_t, std::string>;
std::string why_text(const JobView& view, JobNames jobs = {});
std::string why_json(const JobView& view, JobNames jobs = {});

}  // namespace tutti::launcher
