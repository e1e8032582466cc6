// SPDX-License-Identifier: BSD-3-Clause
// The collectives, and what distinguishes one from another: a row each, which all who treat them
// differently read. A new collective begins here.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tutti::coll {

struct Algorithm;

enum class Collective : uint8_t {
  barrier,
  bcast,
  gather,
  gatherv,
  scatter,
  scatterv,
  allgather,
  allgatherv,
  alltoall,
  alltoallv,
  alltoallw,
  reduce,
  allreduce,
  reduce_scatter,
  reduce_scatter_block,
  scan,
  exscan,
  neighbor_allgather,
  neighbor_allgatherv,
  neighbor_alltoall,
  neighbor_alltoallv,
  neighbor_alltoallw,
};
inline constexpr int kCollectives = 22;
inline constexpr int kCollectivesOverRanks = 17;  // the first ones; the others move blocks along edges

struct CollectiveRow {
  Collective kind;
  std::string_view name;  // in rules, logs and tests: "allreduce"
  bool rooted = false;
  bool reduces = false;
  // The blocks of the input, of the output, have counts and displacements of their own; and types.
  bool input_arrays = false, output_arrays = false, typed_arrays = false;
  // Moves a block along each edge of a topology, not to each rank; or the same data along all of them.
  bool over_edges = false, same_to_all = false;
  // All ranks know the bytes of a block, or of the vector, alike: rules may choose by them.
  bool knows_bytes = true;
  std::span<const Algorithm> (*algorithms)() = nullptr;  // the first one needs nothing
};

const CollectiveRow& row_of(Collective kind);
inline std::string_view name_of(Collective kind) {
  return row_of(kind).name;
}

}  // namespace tutti::coll
