// SPDX-License-Identifier: BSD-3-Clause
// The map of a job in the notation of PMI-1, "(vector,(first node,nodes,ranks of each),…)": a text that is
// short where ranks are placed regularly, however many they are.
#pragma once

#include <string_view>
#include <vector>

namespace tutti::boot {

// The node of each of `size` ranks; empty: the text is none, or is about another number of ranks.
std::vector<int> nodes_of_mapping(std::string_view text, int size);

}  // namespace tutti::boot
