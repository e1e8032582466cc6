// SPDX-License-Identifier: BSD-3-Clause
// Collectives between the two groups of an intercommunicator: plans over the union of both
// (base/sides.hpp). Each row of the table has one way, which needs nothing; rules do not choose here.
#pragma once

#include "coll/algorithm.hpp"

namespace tutti::coll {

// A collective over ranks, but no prefix operation: these are for one group.
const Algorithm& algorithm_between(Collective kind);

}  // namespace tutti::coll
