// SPDX-License-Identifier: BSD-3-Clause
// Cartesian topologies: ranks as points of a grid, in row-major order.
#include <algorithm>

#include "functions.hpp"
#include "mpi/comm/agreement.hpp"
#include "mpi/comm/making.hpp"
#include "mpi/topology/api_topology.hpp"
#include "mpi/topology/places.hpp"

namespace tutti::mpi::topology {
namespace {

// How many processes the grid has; an error if the arguments describe none.
Result<int> points_of(const Comm& comm, int ndims, const int* dims, const int* periods) {
  if (ndims < 0) return failure(MPI_ERR_DIMS, "{} is no number of dimensions (argument ndims)", ndims);
  if (ndims > 0 && !dims) return failure(MPI_ERR_ARG, "the array is NULL (argument dims)");
  if (ndims > 0 && !periods) return failure(MPI_ERR_ARG, "the array is NULL (argument periods)");
  int64_t points = 1;
  for (int i = 0; i < ndims; ++i) {
    if (dims[i] < 1) return failure(MPI_ERR_DIMS, "dimension {} has the extent {} (argument dims)", i, dims[i]);
    if (__builtin_mul_overflow(points, dims[i], &points) || points > comm.size())
      return failure(MPI_ERR_DIMS,
                     "the grid has more points than the communicator has ranks, which are {} (argument dims)",
                     comm.size());
  }
  return static_cast<int>(points);
}

std::vector<int> coordinates_of(const std::vector<int>& dims, int rank) {
  std::vector<int> coordinates(dims.size());
  for (size_t i = dims.size(); i-- > 0; rank /= dims[i]) coordinates[i] = rank % dims[i];
  return coordinates;
}

// kNobody where a coordinate lies outside of a dimension that is not periodic.
int rank_at(const Cartesian& grid, const std::vector<int>& coordinates) {
  int rank = 0;
  for (size_t i = 0; i < grid.dims.size(); ++i) {
    int at = coordinates[i];
    const int extent = grid.dims[i];
    if (at < 0 || at >= extent) {
      if (!grid.periodic[i]) return coll::kNobody;
      at = (at % extent + extent) % extent;
    }
    rank = rank * extent + at;
  }
  return rank;
}

// The rank that lies `displacement` steps away; of this one.
int rank_away(const Cartesian& grid, size_t dimension, int64_t displacement) {
  std::vector<int> coordinates = grid.coordinates;
  const int64_t extent = grid.dims[dimension];
  int64_t at = coordinates[dimension] + displacement;
  if (at < 0 || at >= extent) {
    if (!grid.periodic[dimension]) return coll::kNobody;
    at = (at % extent + extent) % extent;
  }
  coordinates[dimension] = static_cast<int>(at);
  return rank_at(grid, coordinates);
}

// The neighbours in the order of section 8.6: in each dimension the one before and the one behind. What
// a rank sends to the one before it is, there, what comes from the one behind: block s meets block s^1,
// also where both are the same rank, or this one.
coll::Edges edges_of(const Cartesian& grid) {
  coll::Edges edges;
  for (size_t i = 0; i < grid.dims.size(); ++i)
    for (const int step : {-1, 1}) edges.destinations.push_back(rank_away(grid, i, step));
  edges.sources = edges.destinations;
  for (int s = 0; s < static_cast<int>(edges.sources.size()); ++s) edges.receiving.push_back(s ^ 1);
  return edges;
}

void arrange(Comm& comm, std::vector<int> dims, std::vector<char> periodic) {
  Cartesian grid{std::move(dims), std::move(periodic), {}};
  grid.coordinates = coordinates_of(grid.dims, comm.rank());
  coll::Edges edges = edges_of(grid);
  comm.topology = std::make_shared<const VirtualTopology>(VirtualTopology{std::move(grid), std::move(edges)});
}

Result<const Cartesian*> grid_of(const Comm& comm) {
  const Cartesian* grid = comm.topology ? comm.topology->cartesian() : nullptr;
  if (!grid) return failure(MPI_ERR_TOPOLOGY, "the communicator has no Cartesian topology (argument comm)");
  return grid;
}

Error array_given(const void* array, size_t length, const char* argument) {
  if (array || length == 0) return {};
  return failure(MPI_ERR_ARG, "the array is NULL (argument {})", argument);
}

// The point that this rank takes, if the ranks may be others than they were.
int best_place(const Comm& comm, int points, const std::vector<int>& dims, const std::vector<char>& periodic) {
  if (!are_apart(comm, points)) return comm.rank();
  return place_of_this_rank(comm, ranks_by_place(comm, ties_of_grid(dims, periodic), dims));
}

std::vector<char> truths(const int* values, int count) {
  std::vector<char> truths;
  for (int i = 0; i < count; ++i) truths.push_back(values[i] != 0);
  return truths;
}

int or_proc_null(int rank) {
  return rank == coll::kNobody ? MPI_PROC_NULL : rank;
}

}  // namespace

Error cart_create(Comm& comm, int ndims, const int* dims, const int* periods, int reorder, MPI_Comm* comm_cart) {
  Result<int> points = points_of(comm, ndims, dims, periods);
  if (!points) return std::move(points).error();
  const bool takes_part = comm.rank() < *points;
  const int place =
      reorder && takes_part ? best_place(comm, *points, {dims, dims + ndims}, truths(periods, ndims)) : comm.rank();
  Given given;
  if (Given::is_asked_for(comm)) {
    const auto n = static_cast<size_t>(ndims);
    given.add("ndims", ndims);
    given.add("dims", {dims, n});
    given.add_truths("periods", {periods, n});
    given.add_truth("reorder", reorder != 0);
  }
  if (Error e = divide(comm, Function::Cart_create, takes_part ? 0 : MPI_UNDEFINED, place, given, comm_cart)) return e;
  if (*comm_cart != MPI_COMM_NULL) arrange(*resolve<Comm>(*comm_cart), {dims, dims + ndims}, truths(periods, ndims));
  return {};
}

Error cart_sub(Comm& comm, const int* remain_dims, MPI_Comm* newcomm) {
  Result<const Cartesian*> found = grid_of(comm);
  if (!found) return std::move(found).error();
  const Cartesian& grid = **found;
  if (Error e = array_given(remain_dims, grid.dims.size(), "remain_dims")) return e;
  int color = 0;  // the point among the dimensions that go
  std::vector<int> dims;
  std::vector<char> periodic;
  for (size_t i = 0; i < grid.dims.size(); ++i) {
    if (remain_dims[i]) {
      dims.push_back(grid.dims[i]);
      periodic.push_back(grid.periodic[i]);
    } else {
      color = color * grid.dims[i] + grid.coordinates[i];
    }
  }
  Given given;
  if (Given::is_asked_for(comm)) given.add_truths("remain_dims", {remain_dims, grid.dims.size()});
  if (Error e = divide(comm, Function::Cart_sub, color, comm.rank(), given, newcomm)) return e;
  arrange(*resolve<Comm>(*newcomm), std::move(dims), std::move(periodic));
  return {};
}

Error cart_map(Comm& comm, int ndims, const int* dims, const int* periods, int* newrank) {
  Result<int> points = points_of(comm, ndims, dims, periods);
  if (!points) return std::move(points).error();
  *newrank =
      comm.rank() < *points ? best_place(comm, *points, {dims, dims + ndims}, truths(periods, ndims)) : MPI_UNDEFINED;
  return {};
}

Error cartdim_get(Comm& comm, int* ndims) {
  Result<const Cartesian*> grid = grid_of(comm);
  if (!grid) return std::move(grid).error();
  *ndims = static_cast<int>((*grid)->dims.size());
  return {};
}

Error cart_get(Comm& comm, int maxdims, int* dims, int* periods, int* coords) {
  Result<const Cartesian*> found = grid_of(comm);
  if (!found) return std::move(found).error();
  const Cartesian& grid = **found;
  const size_t n = std::min(grid.dims.size(), static_cast<size_t>(maxdims));
  if (Error e = array_given(dims, n, "dims")) return e;
  if (Error e = array_given(periods, n, "periods")) return e;
  if (Error e = array_given(coords, n, "coords")) return e;
  for (size_t i = 0; i < n; ++i) {
    dims[i] = grid.dims[i];
    periods[i] = grid.periodic[i];
    coords[i] = grid.coordinates[i];
  }
  return {};
}

Error cart_rank(Comm& comm, const int* coords, int* rank) {
  Result<const Cartesian*> found = grid_of(comm);
  if (!found) return std::move(found).error();
  const Cartesian& grid = **found;
  if (Error e = array_given(coords, grid.dims.size(), "coords")) return e;
  for (size_t i = 0; i < grid.dims.size(); ++i)
    if (!grid.periodic[i] && (coords[i] < 0 || coords[i] >= grid.dims[i]))
      return failure(MPI_ERR_ARG,
                     "coordinate {} is {}, outside of a dimension of {} that is not periodic (argument coords)", i,
                     coords[i], grid.dims[i]);
  *rank = rank_at(grid, {coords, coords + grid.dims.size()});
  return {};
}

Error cart_coords(Comm& comm, int rank, int maxdims, int* coords) {
  Result<const Cartesian*> found = grid_of(comm);
  if (!found) return std::move(found).error();
  const Cartesian& grid = **found;
  if (rank < 0 || rank >= comm.size())
    return failure(MPI_ERR_RANK, "the communicator has ranks 0 to {}, not {} (argument rank)", comm.size() - 1, rank);
  const std::vector<int> all = coordinates_of(grid.dims, rank);
  const size_t n = std::min(all.size(), static_cast<size_t>(maxdims));
  if (Error e = array_given(coords, n, "coords")) return e;
  std::copy_n(all.begin(), n, coords);
  return {};
}

Error cart_shift(Comm& comm, int direction, int disp, int* rank_source, int* rank_dest) {
  Result<const Cartesian*> found = grid_of(comm);
  if (!found) return std::move(found).error();
  const Cartesian& grid = **found;
  if (direction < 0 || static_cast<size_t>(direction) >= grid.dims.size())
    return failure(MPI_ERR_DIMS, "the grid has {} dimensions, of which {} is none (argument direction)",
                   grid.dims.size(), direction);
  const auto dimension = static_cast<size_t>(direction);
  *rank_dest = or_proc_null(rank_away(grid, dimension, disp));
  *rank_source = or_proc_null(rank_away(grid, dimension, -int64_t{disp}));
  return {};
}

}  // namespace tutti::mpi::topology
