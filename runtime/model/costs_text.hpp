// SPDX-License-Identifier: BSD-3-Clause
// The costs of a machine as text, as `./dev bench model` prints them and `tutti plan --costs` reads them: lines of a name, a
// number and a unit, and comments from # on. Pure.
//
//   latency        1.50 us
//   bandwidth     12.50 GB/s    # through a node's card
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "model/costs.hpp"

namespace tutti::model {

// What the text does not name stays as docs/scale.md has it. An error says which line is wrong, and why.
Result<Costs> costs_of_text(std::string_view text);

}  // namespace tutti::model
