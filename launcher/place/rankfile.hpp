// SPDX-License-Identifier: BSD-3-Clause
// The text of a rankfile (--rankfile): for each rank its host and, if it says so, its cores there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tutti::launcher {

struct RankLine {
  std::string host;   // as written: a name, or +n2
  std::string slots;  // what stands behind slot=, for Topology::cores_named(); empty: not bound
  bool operator==(const RankLine&) const = default;
};

// Lines "rank 3=node1 slot=0-1", in any order, for each rank from 0 on; '#' begins a comment. In the order of ranks.
Result<std::vector<RankLine>> parse_rankfile(std::string_view text, std::string_view file);

}  // namespace tutti::launcher
