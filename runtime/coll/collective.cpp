// SPDX-License-Identifier: BSD-3-Clause
#include "coll/collective.hpp"

#include "coll/algorithm.hpp"
#include "coll/between.hpp"
#include "functions.hpp"

namespace tutti::coll {
namespace {

using enum Collective;

// clang-format off
constexpr CollectiveRow kRows[] = {
    {.kind = barrier, .name = "barrier", .function = Function::Barrier,
     .known_to = KnownTo::nobody,
     .algorithms = barrier_algorithms, .between = &barrier_between},
    {.kind = bcast, .name = "bcast", .function = Function::Bcast,
     .output = Holds::block, .root = Root::gives,
     .algorithms = bcast_algorithms, .between = &bcast_between},
    {.kind = gather, .name = "gather", .function = Function::Gather,
     .input = Holds::block, .output = Holds::blocks, .root = Root::gets,
     .algorithms = gather_algorithms, .between = &gather_between},
    {.kind = gatherv, .name = "gatherv", .function = Function::Gatherv,
     .input = Holds::block, .output = Holds::arrays, .root = Root::gets, .known_to = KnownTo::pairs,
     .algorithms = gatherv_algorithms, .between = &gather_between},
    {.kind = scatter, .name = "scatter", .function = Function::Scatter,
     .input = Holds::blocks, .output = Holds::block, .root = Root::gives,
     .algorithms = scatter_algorithms, .between = &scatter_between},
    {.kind = scatterv, .name = "scatterv", .function = Function::Scatterv,
     .input = Holds::arrays, .output = Holds::block, .root = Root::gives, .known_to = KnownTo::pairs,
     .algorithms = scatterv_algorithms, .between = &scatter_between},
    {.kind = allgather, .name = "allgather", .function = Function::Allgather,
     .input = Holds::block, .output = Holds::blocks, .in_place = InPlace::by_all,
     .algorithms = allgather_algorithms, .between = &allgather_between},
    {.kind = allgatherv, .name = "allgatherv", .function = Function::Allgatherv,
     .input = Holds::block, .output = Holds::arrays, .in_place = InPlace::by_all,
     .algorithms = allgatherv_algorithms, .between = &allgather_between},
    {.kind = alltoall, .name = "alltoall", .function = Function::Alltoall,
     .input = Holds::blocks, .output = Holds::blocks, .in_place = InPlace::by_all_or_none,
     .algorithms = alltoall_algorithms, .between = &alltoall_between},
    {.kind = alltoallv, .name = "alltoallv", .function = Function::Alltoallv,
     .input = Holds::arrays, .output = Holds::arrays, .known_to = KnownTo::pairs, .in_place = InPlace::by_all_or_none,
     .algorithms = alltoallv_algorithms, .between = &alltoall_between},
    {.kind = alltoallw, .name = "alltoallw", .function = Function::Alltoallw,
     .input = Holds::typed_arrays, .output = Holds::typed_arrays, .known_to = KnownTo::pairs,
     .in_place = InPlace::by_all_or_none,
     .algorithms = alltoallv_algorithms, .between = &alltoall_between},
    {.kind = reduce, .name = "reduce", .function = Function::Reduce,
     .input = Holds::block, .output = Holds::block, .root = Root::gets, .reduces = true,
     .algorithms = reduce_algorithms, .between = &reduce_between},
    {.kind = allreduce, .name = "allreduce", .function = Function::Allreduce,
     .input = Holds::block, .output = Holds::block, .in_place = InPlace::by_all, .reduces = true,
     .algorithms = allreduce_algorithms, .between = &allreduce_between},
    {.kind = reduce_scatter, .name = "reduce_scatter", .function = Function::Reduce_scatter,
     .input = Holds::block, .output = Holds::block, .reduces = true, .divided = Divided::by_counts,
     .algorithms = reduce_scatter_algorithms, .between = &reduce_scatter_between},
    {.kind = reduce_scatter_block, .name = "reduce_scatter_block", .function = Function::Reduce_scatter_block,
     .input = Holds::block, .output = Holds::block, .reduces = true, .divided = Divided::equally,
     .algorithms = reduce_scatter_algorithms, .between = &reduce_scatter_between},
    {.kind = scan, .name = "scan", .function = Function::Scan,
     .input = Holds::block, .output = Holds::block, .reduces = true, .prefix = Prefix::inclusive,
     .algorithms = scan_algorithms},
    {.kind = exscan, .name = "exscan", .function = Function::Exscan,
     .input = Holds::block, .output = Holds::block, .reduces = true, .prefix = Prefix::exclusive,
     .algorithms = exscan_algorithms},
    {.kind = neighbor_allgather, .name = "neighbor_allgather", .function = Function::Neighbor_allgather,
     .input = Holds::block, .output = Holds::blocks, .known_to = KnownTo::pairs, .over_edges = true,
     .algorithms = neighbor_algorithms},
    {.kind = neighbor_allgatherv, .name = "neighbor_allgatherv", .function = Function::Neighbor_allgatherv,
     .input = Holds::block, .output = Holds::arrays, .known_to = KnownTo::pairs, .over_edges = true,
     .algorithms = neighbor_algorithms},
    {.kind = neighbor_alltoall, .name = "neighbor_alltoall", .function = Function::Neighbor_alltoall,
     .input = Holds::blocks, .output = Holds::blocks, .known_to = KnownTo::pairs, .over_edges = true,
     .algorithms = neighbor_algorithms},
    {.kind = neighbor_alltoallv, .name = "neighbor_alltoallv", .function = Function::Neighbor_alltoallv,
     .input = Holds::arrays, .output = Holds::arrays, .known_to = KnownTo::pairs, .over_edges = true,
     .algorithms = neighbor_algorithms},
    {.kind = neighbor_alltoallw, .name = "neighbor_alltoallw", .function = Function::Neighbor_alltoallw,
     .input = Holds::typed_arrays, .output = Holds::typed_arrays, .known_to = KnownTo::pairs, .over_edges = true,
     .algorithms = neighbor_algorithms},
};
// clang-format on

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
