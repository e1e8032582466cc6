// SPDX-License-Identifier: BSD-3-Clause
// A profile's file in the form that its name asks for.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "launcher/data/rank_profile.hpp"

namespace tutti::launcher {

// By its ending: .html, .json; all others: the lines of profile_file.hpp.
Error write_profile(const std::vector<RankProfile>& ranks, const std::string& path);
// Whether it could be written, before there is anything to write: the folder is there, and takes files.
Error check_profile_path(const std::string& path);

}  // namespace tutti::launcher
