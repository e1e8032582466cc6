// SPDX-License-Identifier: BSD-3-Clause
// A list of ranks in a sentence: "rank 1", "ranks 0, 2 and 3", "ranks 0 to 62 and 64".
#pragma once

#include <string>
#include <vector>

namespace tutti {

std::string ranks_text(const std::vector<int>& ranks);  // ascending, at least one

}  // namespace tutti
