// SPDX-License-Identifier: BSD-3-Clause
// Cartesian topologies: what is asked about them, against arithmetic of the test's own; grids smaller than
// the communicator, of no dimension, and parts of grids.
#include <utility>

#include "check.hpp"

namespace {

int product(const std::vector<int>& dims) {
  return std::accumulate(dims.begin(), dims.end(), 1, std::multiplies<int>());
}

void coordinates_and_ranks(MPI_Comm grid, const std::vector<int>& dims, const std::vector<int>& periods) {
  const int n = static_cast<int>(dims.size());
  int rank, size, ndims = -1, kind = -1;
  OK(MPI_Comm_rank(grid, &rank));
  OK(MPI_Comm_size(grid, &size));
  OK(MPI_Topo_test(grid, &kind));
  CHECK_EQ(kind, MPI_CART);
  CHECK_EQ(size, product(dims));
  OK(MPI_Cartdim_get(grid, &ndims));
  CHECK_EQ(ndims, n);
  std::vector<int> got_dims(dims.size() + 1, -7), got_periods(dims.size() + 1, -7), mine(dims.size() + 1, -7);
  OK(MPI_Cart_get(grid, n, got_dims.data(), got_periods.data(), mine.data()));
  for (int i = 0; i < n; ++i) {
    CHECK_EQ(got_dims[i], dims[i]);
    CHECK_EQ(got_periods[i] != 0, periods[i] != 0);
  }
  CHECK_EQ(got_dims[n], -7);
  for (int r = 0; r < size; ++r) {
    std::vector<int> at(dims.size() + 1, -7), expected(dims.size());
    OK(MPI_Cart_coords(grid, r, n, at.data()));
    for (int i = n - 1, rest = r; i >= 0; rest /= dims[i--]) expected[i] = rest % dims[i];
    for (int i = 0; i < n; ++i) CHECK_EQ(at[i], expected[i]);
    if (r == rank)
      for (int i = 0; i < n; ++i) CHECK_EQ(mine[i], at[i]);
    // Periodic dimensions know coordinates outside of them.
    for (int i = 0; i < n; ++i)
      if (periods[i]) at[i] += (r % 3 - 1) * 2 * dims[i];
    int back = -1;
    OK(MPI_Cart_rank(grid, at.data(), &back));
    CHECK_EQ(back, r);
    for (int i = 0; i < n; ++i) {
      if (periods[i]) continue;
      const int inside = std::exchange(at[i], dims[i]);
      FAILS(MPI_Cart_rank(grid, at.data(), &back), MPI_ERR_ARG);
      at[i] = inside;
    }
  }
}

void shifts(MPI_Comm grid, const std::vector<int>& dims, const std::vector<int>& periods) {
  const int n = static_cast<int>(dims.size());
  std::vector<int> mine(dims.size() + 1);
  int rank;
  OK(MPI_Comm_rank(grid, &rank));
  OK(MPI_Cart_coords(grid, rank, n, mine.data()));
  for (int d = 0; d < n; ++d)
    for (int step = -5; step <= 5; ++step) {
      int ends[2] = {-9, -9};
      OK(MPI_Cart_shift(grid, d, step, &ends[0], &ends[1]));
      for (int end = 0; end < 2; ++end) {
        std::vector<int> there(mine.begin(), mine.end() - 1);
        there[d] += end == 0 ? -step : step;
        int expected = MPI_PROC_NULL;
        if (periods[d] || (there[d] >= 0 && there[d] < dims[d])) {
          there[d] = ((there[d] % dims[d]) + dims[d]) % dims[d];
          expected = 0;
          for (int i = 0; i < n; ++i) expected = expected * dims[i] + there[i];
        }
        CHECK_EQ_IN(ends[end], expected, "dimension %d, step %d, %s", d, step, end ? "destination" : "source");
      }
    }
  int ignored;
  FAILS(MPI_Cart_shift(grid, n, 1, &ignored, &ignored), MPI_ERR_DIMS);
  FAILS(MPI_Cart_shift(grid, -1, 1, &ignored, &ignored), MPI_ERR_DIMS);
}

// Every choice of dimensions to remain.
void parts(MPI_Comm grid, const std::vector<int>& dims, const std::vector<int>& periods) {
  const int n = static_cast<int>(dims.size());
  std::vector<int> mine(dims.size() + 1);
  int rank;
  OK(MPI_Comm_rank(grid, &rank));
  OK(MPI_Cart_coords(grid, rank, n, mine.data()));
  for (int choice = 0; choice < 1 << n; ++choice) {
    std::vector<int> remains, left, left_periods;
    int expected = 0;
    for (int i = 0; i < n; ++i) {
      remains.push_back(choice >> i & 1);
      if (!remains.back()) continue;
      left.push_back(dims[i]);
      left_periods.push_back(periods[i]);
      expected = expected * dims[i] + mine[i];
    }
    MPI_Comm part;
    OK(MPI_Cart_sub(grid, n > 0 ? remains.data() : nullptr, &part));
    int part_rank;
    OK(MPI_Comm_rank(part, &part_rank));
    CHECK_EQ(part_rank, expected);
    OK(MPI_Comm_set_errhandler(part, MPI_ERRORS_RETURN));
    coordinates_and_ranks(part, left, left_periods);
    // Those that share a part share the coordinates that went.
    int gone = 0;
    for (int i = 0; i < n; ++i)
      if (!remains[i]) gone = gone * dims[i] + mine[i];
    int least = -1, most = -1;
    OK(MPI_Allreduce(&gone, &least, 1, MPI_INT, MPI_MIN, part));
    OK(MPI_Allreduce(&gone, &most, 1, MPI_INT, MPI_MAX, part));
    CHECK_EQ(least, most);
    OK(MPI_Comm_free(&part));
  }
}

void grid_of(const check::Program& world, std::vector<int> dims, std::vector<int> periods) {
  const int n = static_cast<int>(dims.size()), points = product(dims);
  if (points > world.size()) return;
  int mapped = -7;
  OK(MPI_Cart_map(MPI_COMM_WORLD, n, dims.data(), periods.data(), &mapped));
  CHECK(mapped == MPI_UNDEFINED || (mapped >= 0 && mapped < points));
  for (const int reorder : {0, 1}) {
    MPI_Comm grid;
    OK(MPI_Cart_create(MPI_COMM_WORLD, n, dims.data(), periods.data(), reorder, &grid));
    if (!reorder) CHECK_EQ(grid == MPI_COMM_NULL, world.rank() >= points);
    if (reorder) CHECK_EQ(grid == MPI_COMM_NULL, mapped == MPI_UNDEFINED);
    if (grid == MPI_COMM_NULL) continue;
    int rank;
    OK(MPI_Comm_rank(grid, &rank));
    CHECK_EQ(rank, reorder ? mapped : world.rank());
    OK(MPI_Comm_set_errhandler(grid, MPI_ERRORS_RETURN));
    coordinates_and_ranks(grid, dims, periods);
    shifts(grid, dims, periods);
    parts(grid, dims, periods);
    MPI_Comm copy;
    OK(MPI_Comm_dup(grid, &copy));  // a duplicate has the topology, too
    OK(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN));
    OK(MPI_Comm_free(&grid));
    coordinates_and_ranks(copy, dims, periods);
    OK(MPI_Comm_free(&copy));
  }
}

void refusals(const check::Program& world) {
  int number = 0, numbers[3] = {2, 2, 2}, kind = 0;
  OK(MPI_Topo_test(MPI_COMM_WORLD, &kind));
  CHECK_EQ(kind, MPI_UNDEFINED);
  FAILS(MPI_Cartdim_get(MPI_COMM_WORLD, &number), MPI_ERR_TOPOLOGY);
  FAILS(MPI_Cart_get(MPI_COMM_WORLD, 3, numbers, numbers, numbers), MPI_ERR_TOPOLOGY);
  FAILS(MPI_Cart_rank(MPI_COMM_WORLD, numbers, &number), MPI_ERR_TOPOLOGY);
  FAILS(MPI_Cart_coords(MPI_COMM_WORLD, 0, 3, numbers), MPI_ERR_TOPOLOGY);
  FAILS(MPI_Cart_shift(MPI_COMM_WORLD, 0, 1, &number, &number), MPI_ERR_TOPOLOGY);
  MPI_Comm comm;
  FAILS(MPI_Cart_sub(MPI_COMM_WORLD, numbers, &comm), MPI_ERR_TOPOLOGY);
  int big = world.size() + 1, yes = 1, zero = 0, negative = -1;
  FAILS(MPI_Cart_create(MPI_COMM_WORLD, 1, &big, &yes, 0, &comm), MPI_ERR_DIMS);
  FAILS(MPI_Cart_create(MPI_COMM_WORLD, 1, &zero, &yes, 0, &comm), MPI_ERR_DIMS);
  FAILS(MPI_Cart_create(MPI_COMM_WORLD, 1, &negative, &yes, 0, &comm), MPI_ERR_DIMS);
  FAILS(MPI_Cart_create(MPI_COMM_WORLD, -1, &yes, &yes, 0, &comm), MPI_ERR_DIMS);
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  refusals(world);
  const int size = world.size();
  for (const int periodic : {0, 1}) {
    grid_of(world, {}, {});
    grid_of(world, {size}, {periodic});
    grid_of(world, {1}, {periodic});
    grid_of(world, {1, size, 1}, {1, periodic, 0});
    grid_of(world, {2, size / 2 > 0 ? size / 2 : 1}, {periodic, 1});
    grid_of(world, {2, 2, 2}, {periodic, 0, 1});
    grid_of(world, {2, 3}, {0, periodic});
    grid_of(world, {size > 1 ? size - 1 : 1}, {periodic});
  }
}
