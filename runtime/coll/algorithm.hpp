// SPDX-License-Identifier: BSD-3-Clause
// An algorithm: a row of the table of its collective, in the file of that one. The names are the ones that
// rules, logs and tests use.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "coll/plan.hpp"
#include "coll/shape.hpp"

namespace tutti::coll {

// What an algorithm asks of a call. Only what every rank sees alike may stand here, or ranks would
// choose differently.
enum class Needs : uint8_t {
  nothing,
  commutative,    // the reduction's operands meet in another order than that of the ranks
  power_of_two,   // ranks
  shared_memory,  // that all ranks share, with room for the call (coll/shared.hpp)
  shared_slot,    // the same, with room for each block as a whole
  nodes,          // several, and more than one rank on some of them (coll/hierarchical.hpp)
  equal_nodes,    // the same, each with as many ranks, which follow one another
};

struct Algorithm {
  std::string_view name;
  std::string_view when;  // in a few words, for people
  Plan (*build)(const Shape&) = nullptr;
  Needs needs = Needs::nothing;
};

// Why `algorithm` cannot serve `shape`; empty if it can.
std::string_view objection(const Algorithm& algorithm, const Shape& shape);

// Those of the collective's row.
std::span<const Algorithm> algorithms(Collective kind);

}  // namespace tutti::coll
