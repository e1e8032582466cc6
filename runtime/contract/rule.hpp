// SPDX-License-Identifier: BSD-3-Clause
// The rule that collective calls obey (the standard, section 6.14), as the predicate that it is:
// for all collectives X and Y and all ranks I and J that take part in both, I starts X before Y
// exactly if J does. Pure; what the checker finds is tested against it (tests/contract/random.cpp).
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

namespace tutti::contract {

// By rank: the collectives that it starts, by number, in the order in which it starts them.
using Starts = std::vector<std::vector<int>>;

struct Violation {
  int x, y;  // collectives
  int i, j;  // ranks: i starts x before y, j does not
};

// The first violation, if there is one. A rank takes part in what stands in its list.
inline std::optional<Violation> violation(const Starts& starts) {
  const auto position = [&](size_t rank, int x) {
    const auto& list = starts[rank];
    const auto at = std::find(list.begin(), list.end(), x);
    return at == list.end() ? -1 : at - list.begin();
  };
  for (size_t i = 0; i < starts.size(); ++i)
    for (size_t j = 0; j < starts.size(); ++j)
      for (size_t a = 0; a < starts[i].size(); ++a)
        for (size_t b = a + 1; b < starts[i].size(); ++b) {
          const int x = starts[i][a], y = starts[i][b];
          const auto x_of_j = position(j, x), y_of_j = position(j, y);
          if (x_of_j >= 0 && y_of_j >= 0 && x_of_j > y_of_j)
            return Violation{x, y, static_cast<int>(i), static_cast<int>(j)};
        }
  return std::nullopt;
}

}  // namespace tutti::contract
