// SPDX-License-Identifier: BSD-3-Clause
#include "coll/collective.hpp"

#include "coll/algorithm.hpp"

namespace tutti::coll {
namespace {

using enum Collective;

constexpr CollectiveRow kRows[] = {
    {.kind = barrier, .name = "barrier", .knows_bytes = false, .algorithms = barrier_algorithms},
    {.kind = bcast, .name = "bcast", .rooted = true, .algorithms = bcast_algorithms},
    {.kind = gather, .name = "gather", .rooted = true, .algorithms = gather_algorithms},
    {.kind = gatherv,
     .name = "gatherv",
     .rooted = true,
     .output_arrays = true,
     .knows_bytes = false,
     .algorithms = gatherv_algorithms},
    {.kind = scatter, .name = "scatter", .rooted = true, .algorithms = scatter_algorithms},
    {.kind = scatterv,
     .name = "scatterv",
     .rooted = true,
     .input_arrays = true,
     .knows_bytes = false,
     .algorithms = scatterv_algorithms},
    {.kind = allgather, .name = "allgather", .algorithms = allgather_algorithms},
    {.kind = allgatherv, .name = "allgatherv", .output_arrays = true, .algorithms = allgatherv_algorithms},
    {.kind = alltoall, .name = "alltoall", .algorithms = alltoall_algorithms},
    {.kind = alltoallv,
     .name = "alltoallv",
     .input_arrays = true,
     .output_arrays = true,
     .knows_bytes = false,
     .algorithms = alltoallv_algorithms},
    {.kind = alltoallw,
     .name = "alltoallw",
     .input_arrays = true,
     .output_arrays = true,
     .typed_arrays = true,
     .knows_bytes = false,
     .algorithms = alltoallv_algorithms},
    {.kind = reduce, .name = "reduce", .rooted = true, .reduces = true, .algorithms = reduce_algorithms},
    {.kind = allreduce, .name = "allreduce", .reduces = true, .algorithms = allreduce_algorithms},
    {.kind = reduce_scatter, .name = "reduce_scatter", .reduces = true, .algorithms = reduce_scatter_algorithms},
    {.kind = reduce_scatter_block,
     .name = "reduce_scatter_block",
     .reduces = true,
     .algorithms = reduce_scatter_algorithms},
    {.kind = scan, .name = "scan", .reduces = true, .algorithms = scan_algorithms},
    {.kind = exscan, .name = "exscan", .reduces = true, .algorithms = exscan_algorithms},
    {.kind = neighbor_allgather,
     .name = "neighbor_allgather",
     .over_edges = true,
     .same_to_all = true,
     .knows_bytes = false,
     .algorithms = neighbor_algorithms},
    {.kind = neighbor_allgatherv,
     .name = "neighbor_allgatherv",
     .output_arrays = true,
     .over_edges = true,
     .same_to_all = true,
     .knows_bytes = false,
     .algorithms = neighbor_algorithms},
    {.kind = neighbor_alltoall,
     .name = "neighbor_alltoall",
     .over_edges = true,
     .knows_bytes = false,
     .algorithms = neighbor_algorithms},
    {.kind = neighbor_alltoallv,
     .name = "neighbor_alltoallv",
     .input_arrays = true,
     .output_arrays = true,
     .over_edges = true,
     .knows_bytes = false,
     .algorithms = neighbor_algorithms},
    {.kind = neighbor_alltoallw,
     .name = "neighbor_alltoallw",
     .input_arrays = true,
     .output_arrays = true,
     .typed_arrays = true,
     .over_edges = true,
     .knows_bytes = false,
     .algorithms = neighbor_algorithms},
};

constexpr bool are_in_order() {
  for (int i = 0; i < kCollectives; ++i)
    if (kRows[i].kind != static_cast<Collective>(i)) return false;
  return std::size(kRows) == kCollectives;
}
static_assert(are_in_order());

}  // namespace

const CollectiveRow& row_of(Collective kind) {
  return kRows[static_cast<size_t>(kind)];
}

std::span<const Algorithm> algorithms(Collective kind) {
  return row_of(kind).algorithms();
}

}  // namespace tutti::coll
