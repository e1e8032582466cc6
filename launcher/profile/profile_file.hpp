// SPDX-License-Identifier: BSD-3-Clause
// A job's profile as a file, which mpirun --profile=FILE leaves and `tutti profile` reads: lines of a word and its fields,
// divided by tabs, so that any language reads it. tutti-profile(1) says what each means, and is changed with this.
// Whatever a file holds is judged: numbers name what there is, and texts have nothing that a terminal would obey.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "launcher/data/rank_profile.hpp"

namespace tutti::launcher {

// Another one is another meaning of lines that there are. What is only added, fields at the end of a line or lines with
// other words, keeps it: readers pass over what they do not know.
inline constexpr int kProfileVersion = 1;

std::string profile_as_lines(const std::vector<RankProfile>& ranks);
// The error names the line.
Result<std::vector<RankProfile>> profile_of_lines(std::string_view text);

// Writes beside `path` first, so that what stands there is whole.
Error write_whole(const std::string& path, std::string_view text);
Result<std::vector<RankProfile>> read_profile(const std::string& path);

}  // namespace tutti::launcher
