// SPDX-License-Identifier: BSD-3-Clause
#include "coll/algorithm.hpp"

#include <bit>

#include "base/log.hpp"
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
      if (!std::has_single_bit(static_cast<unsigned>(shape.size)))
        return "it needs a power of two of ranks";
      break;
    case Needs::shared_memory:
      return objection_to_sharing(shape);
    case Needs::shared_slot:
      return objection_to_one_round(shape);
    case Needs::nodes:
      return objection_to_levels(shape);
  }
  return {};
}

std::span<const Algorithm> algorithms(Collective kind) {
  switch (kind) {
    case Collective::barrier:
      return barrier_algorithms();
    case Collective::bcast:
      return bcast_algorithms();
    case Collective::gather:
      return gather_algorithms();
    case Collective::gatherv:
      return gatherv_algorithms();
    case Collective::scatter:
      return scatter_algorithms();
    case Collective::scatterv:
      return scatterv_algorithms();
    case Collective::allgather:
      return allgather_algorithms();
    case Collective::allgatherv:
      return allgatherv_algorithms();
    case Collective::alltoall:
      return alltoall_algorithms();
    case Collective::alltoallv:
    case Collective::alltoallw:
      return alltoallv_algorithms();
    case Collective::reduce:
      return reduce_algorithms();
    case Collective::allreduce:
      return allreduce_algorithms();
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
      return reduce_scatter_algorithms();
    case Collective::scan:
      return scan_algorithms();
    case Collective::exscan:
      return exscan_algorithms();
  }
  invariant_broken(__FILE__, __LINE__, "a collective without algorithms");
}

}  // namespace tutti::coll
