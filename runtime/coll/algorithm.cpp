// SPDX-License-Identifier: BSD-3-Clause
#include "coll/algorithm.hpp"

#include <bit>

#include "coll/hierarchical.hpp"
#include "coll/shared.hpp"

namespace tutti::coll {

std::string_view objection(const Algorithm& algorithm, const Shape& shape) {
  switch (algorithm.needs) {
    case Needs::nothing:
      break;
    case Needs::commutative:
      if (!shape.commutative) return "it needs a commutative operation";
      break;
    case Needs::power_of_two:
      if (!std::has_single_bit(static_cast<unsigned>(shape.size))) return "it needs a power of two of ranks";
      break;
    case Needs::shared_memory:
      return objection_to_sharing(shape);
    case Needs::shared_slot:
      return objection_to_one_round(shape);
    case Needs::nodes:
      return objection_to_levels(shape);
    case Needs::equal_nodes:
      if (const std::string_view why = objection_to_levels(shape); !why.empty()) return why;
      if (!shape.nodes->equal()) return "its nodes have different numbers of its ranks";
      if (!shape.nodes->contiguous()) return "the ranks of a node do not follow one another";
      break;
  }
  return {};
}

}  // namespace tutti::coll
