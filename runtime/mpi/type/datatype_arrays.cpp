// SPDX-License-Identifier: BSD-3-Clause
// Subarrays and distributed arrays (the standard, 5.1.3 and 5.1.4). Both are built one dimension
// after the other, the fastest one first, from the layout of what lies within it.
#include "mpi/type/api_datatype.hpp"
#include "mpi/type/datatype_maker.hpp"

namespace tutti::mpi {

namespace {

Error check_order(int order) {
  if (order == MPI_ORDER_C || order == MPI_ORDER_FORTRAN) return {};
  return failure(MPI_ERR_ARG, "order is {}: it must be MPI_ORDER_C or MPI_ORDER_FORTRAN", order);
}

// The dimension that varies i-th fastest.
int64_t by_speed(int order, int64_t ndims, int64_t i) {
  return order == MPI_ORDER_FORTRAN ? i : ndims - 1 - i;
}

// What is built so far: a part of a row, plane, … of `elements` local elements, in an array of
// which one whole row, plane, … takes `stride` bytes.
struct Slab {
  LayoutRef layout;
  int64_t stride;
  int64_t elements = 1;
};

// `count` blocks of `length` slabs, the first at slab `first`, then every `step` slabs.
bool repeat(LayoutRef& layout, int64_t stride, int64_t first, int64_t length, int64_t count, int64_t step) {
  int64_t step_bytes = 0, first_bytes = 0;
  if (!multiply(step, stride, step_bytes) || !multiply(first, stride, first_bytes)) return false;
  layout = Layout::repeat(layout, length, stride);
  if (layout) layout = Layout::repeat(layout, count, step_bytes);
  if (layout) layout = Layout::sequence({layout}, {1}, {first_bytes});
  return layout != nullptr;
}

Error check_subarray(int64_t ndims, Ints sizes, Ints subsizes, Ints starts, int order) {
  if (ndims < 1) return failure(MPI_ERR_ARG, "ndims is {}: an array has at least one", ndims);
  if (!sizes || !subsizes || !starts) return failure(MPI_ERR_ARG, "sizes, subsizes or starts is NULL");
  for (int64_t d = 0; d < ndims; d++) {
    if (sizes[d] < 1) return failure(MPI_ERR_ARG, "array_of_sizes[{}] is {}: it must be at least 1", d, sizes[d]);
    if (subsizes[d] < 1 || subsizes[d] > sizes[d])
      return failure(MPI_ERR_ARG, "array_of_subsizes[{}] is {}: it must lie between 1 and the size {}", d, subsizes[d],
                     sizes[d]);
    if (starts[d] < 0 || starts[d] > sizes[d] - subsizes[d])
      return failure(MPI_ERR_ARG, "array_of_starts[{}] is {}: {} elements from there do not lie in the size {}", d,
                     starts[d], subsizes[d], sizes[d]);
  }
  return check_order(order);
}

Error subarray(CountForm form, int64_t ndims, Ints sizes, Ints subsizes, Ints starts, int order, Datatype& oldtype,
               MPI_Datatype* newtype) {
  if (Error error = check_subarray(ndims, sizes, subsizes, starts, order)) return error;
  Slab slab{oldtype.layout, oldtype.layout->extent()};
  for (int64_t i = 0; i < ndims; i++) {
    const int64_t d = by_speed(order, ndims, i);
    if (!repeat(slab.layout, slab.stride, starts[d], subsizes[d], 1, 0) ||
        !multiply(slab.stride, sizes[d], slab.stride) || !multiply(slab.elements, subsizes[d], slab.elements))
      return too_large();
  }
  TypeArguments arguments(MPI_COMBINER_SUBARRAY, form);
  arguments.integer(ndims);
  arguments.all_counts(sizes, ndims).all_counts(subsizes, ndims).all_counts(starts, ndims);
  arguments.integer(order);
  return make_type(Layout::resized(slab.layout, 0, slab.stride), std::move(arguments), {&oldtype},
                   {{&oldtype, slab.elements}}, newtype);
}

// One dimension of a distributed array: blocks of `block` elements dealt to `processes` in turn.
struct Deal {
  int64_t block, processes;
};

Result<Deal> deal(int64_t d, int64_t gsize, int64_t distribution, int64_t argument, int64_t psize) {
  const bool by_default = argument == MPI_DISTRIBUTE_DFLT_DARG;
  if (gsize < 1 || psize < 1)
    return failure(MPI_ERR_ARG, "dimension {} has {} elements over {} processes", d, gsize, psize);
  if (distribution != MPI_DISTRIBUTE_NONE && !by_default && argument < 1)
    return failure(MPI_ERR_ARG, "array_of_dargs[{}] is {}: it must be at least 1", d, argument);
  switch (distribution) {
    case MPI_DISTRIBUTE_NONE:
      if (psize != 1) return failure(MPI_ERR_ARG, "dimension {} is not distributed, yet over {} processes", d, psize);
      return Deal{gsize, 1};
    case MPI_DISTRIBUTE_BLOCK: {
      const int64_t block = by_default ? (gsize + psize - 1) / psize : argument;
      if (block < (gsize + psize - 1) / psize)
        return failure(MPI_ERR_ARG, "dimension {}: blocks of {} over {} processes do not hold {} elements", d, block,
                       psize, gsize);
      return Deal{block, psize};
    }
    case MPI_DISTRIBUTE_CYCLIC:
      return Deal{by_default ? 1 : argument, psize};
  }
  return failure(MPI_ERR_ARG, "array_of_distribs[{}] is {}: no distribution", d, distribution);
}

// The part of process `coordinate` in a dimension of `gsize` slabs.
bool take(Slab& slab, const Deal& deal, int64_t gsize, int64_t coordinate) {
  const int64_t blocks = gsize / deal.block, rest = gsize % deal.block;
  const int64_t whole = blocks / deal.processes + (coordinate < blocks % deal.processes);
  const bool has_rest = rest > 0 && coordinate == blocks % deal.processes;
  // One process may have a huge block: then no step to the next is needed, nor might it fit.
  int64_t step = 0;
  if (whole > 1 && !multiply(deal.block, deal.processes, step)) return false;
  const int64_t first = coordinate * (whole > 0 ? deal.block : 0);
  LayoutRef mine = slab.layout, last = slab.layout;
  if (!repeat(mine, slab.stride, first, whole > 0 ? deal.block : 0, whole, step)) return false;
  if (has_rest) {
    if (!repeat(last, slab.stride, blocks * deal.block, rest, 1, 0)) return false;
    mine = Layout::sequence({mine, last}, {1, 1}, {0, 0});
  }
  slab.layout = mine;
  return mine && multiply(slab.elements, whole * deal.block + (has_rest ? rest : 0), slab.elements) &&
         multiply(slab.stride, gsize, slab.stride);
}

Error darray(CountForm form, int64_t size, int64_t rank, int64_t ndims, Ints gsizes, Ints distribs, Ints dargs,
             Ints psizes, int order, Datatype& oldtype, MPI_Datatype* newtype) {
  if (ndims < 1) return failure(MPI_ERR_ARG, "ndims is {}: an array has at least one", ndims);
  if (!gsizes || !distribs || !dargs || !psizes)
    return failure(MPI_ERR_ARG, "gsizes, distribs, dargs or psizes is NULL");
  if (size < 1 || rank < 0 || rank >= size)
    return failure(MPI_ERR_ARG, "rank {} is not among {} processes", rank, size);
  if (Error error = check_order(order)) return error;
  // The processes form a grid in C order, whatever the order of the array.
  int64_t processes = 1;
  for (int64_t d = 0; d < ndims; d++)
    if (!multiply(processes, psizes[d], processes)) return too_large();
  if (processes != size)
    return failure(MPI_ERR_ARG, "the grid of array_of_psizes has {} processes, size is {}", processes, size);
  std::vector<int64_t> coordinates(static_cast<size_t>(ndims));
  std::vector<Deal> deals;
  for (int64_t d = 0; d < ndims; d++) {
    auto one = deal(d, gsizes[d], distribs[d], dargs[d], psizes[d]);
    if (!one) return std::move(one).error();
    deals.push_back(*one);
    processes /= psizes[d];
    coordinates[static_cast<size_t>(d)] = rank / processes % psizes[d];
  }
  Slab slab{oldtype.layout, oldtype.layout->extent()};
  for (int64_t i = 0; i < ndims; i++) {
    const auto d = static_cast<size_t>(by_speed(order, ndims, i));
    if (!take(slab, deals[d], gsizes[static_cast<int64_t>(d)], coordinates[d])) return too_large();
  }
  TypeArguments arguments(MPI_COMBINER_DARRAY, form);
  arguments.integer(size).integer(rank).integer(ndims);
  arguments.all_counts(gsizes, ndims).all_integers(distribs, ndims).all_integers(dargs, ndims);
  arguments.all_integers(psizes, ndims).integer(order);
  return make_type(Layout::resized(slab.layout, 0, slab.stride), std::move(arguments), {&oldtype},
                   {{&oldtype, slab.elements}}, newtype);
}

}  // namespace

Error type_create_subarray(int64_t ndims, Ints sizes, Ints subsizes, Ints starts, int order, Datatype& oldtype,
                           MPI_Datatype* newtype) {
  return subarray(CountForm::small, ndims, sizes, subsizes, starts, order, oldtype, newtype);
}
Error type_create_subarray_c(int64_t ndims, Ints sizes, Ints subsizes, Ints starts, int order, Datatype& oldtype,
                             MPI_Datatype* newtype) {
  return subarray(CountForm::large, ndims, sizes, subsizes, starts, order, oldtype, newtype);
}
Error type_create_darray(int64_t size, int64_t rank, int64_t ndims, Ints gsizes, Ints distribs, Ints dargs, Ints psizes,
                         int order, Datatype& oldtype, MPI_Datatype* newtype) {
  return darray(CountForm::small, size, rank, ndims, gsizes, distribs, dargs, psizes, order, oldtype, newtype);
}
Error type_create_darray_c(int64_t size, int64_t rank, int64_t ndims, Ints gsizes, Ints distribs, Ints dargs,
                           Ints psizes, int order, Datatype& oldtype, MPI_Datatype* newtype) {
  return darray(CountForm::large, size, rank, ndims, gsizes, distribs, dargs, psizes, order, oldtype, newtype);
}

}  // namespace tutti::mpi
