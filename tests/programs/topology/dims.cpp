// SPDX-License-Identifier: BSD-3-Clause
// MPI_Dims_create: against exhaustive search, with extents that are given, and with what cannot be done.
// TUTTI_ONLY: the standard leaves open what "as close to each other as possible" means.
#include "check.hpp"

namespace {

// All products of `factors` factors in descending order, the best by quotient and sum.
void search(long product, int factors, long most, std::vector<long>& chosen, std::vector<long>& best) {
  if (factors == 1) {
    if (product > most) return;
    chosen.push_back(product);
    const auto sum = [](const std::vector<long>& v) { return std::accumulate(v.begin(), v.end(), 0L); };
    const long mine = best.empty() ? 0 : chosen.front() * best.back();
    const long other = best.empty() ? 1 : best.front() * chosen.back();
    if (mine < other || (mine == other && sum(chosen) < sum(best))) best = chosen;
    chosen.pop_back();
    return;
  }
  for (long factor = 1; factor <= std::min(product, most); ++factor) {
    if (product % factor != 0) continue;
    chosen.push_back(factor);
    search(product / factor, factors - 1, factor, chosen, best);
    chosen.pop_back();
  }
}

void compare(int nodes, int ndims) {
  std::vector<int> dims(static_cast<size_t>(ndims), 0);
  OK(MPI_Dims_create(nodes, ndims, dims.data()));
  std::vector<long> chosen, best;
  search(nodes, ndims, nodes, chosen, best);
  for (int i = 0; i < ndims; ++i) CHECK_EQ_IN(dims[i], best[i], "%d nodes, dimension %d of %d", nodes, i, ndims);
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  const bool all = argc > 1;  // every number to 10^4; else some
  const int step = all ? 1 : 37;
  for (int nodes = 1; nodes <= 10000; nodes += nodes < 200 ? 1 : step)
    for (int ndims = 1; ndims <= (nodes < 500 ? 5 : 3); ++ndims) compare(nodes, ndims);

  int given[4] = {0, 3, 0, 1};
  OK(MPI_Dims_create(36, 4, given));
  CHECK_EQ(given[0], 4);
  CHECK_EQ(given[1], 3);
  CHECK_EQ(given[2], 3);
  CHECK_EQ(given[3], 1);
  int full[2] = {2, 3};
  OK(MPI_Dims_create(6, 2, full));
  int many[20] = {};
  OK(MPI_Dims_create(1 << 20, 20, many));
  for (const int extent : many) CHECK_EQ(extent, 2);
  int prime[3] = {};
  OK(MPI_Dims_create(2147483647, 3, prime));
  CHECK_EQ(prime[0], 2147483647);
  CHECK_EQ(prime[2], 1);
  int smooth[6] = {};
  OK(MPI_Dims_create(2095133040, 6, smooth));
  CHECK_EQ(std::accumulate(smooth, smooth + 6, 1L, std::multiplies<long>()), 2095133040L);
  OK(MPI_Dims_create(1, 0, nullptr));

  int odd[2] = {4, 0}, negative[2] = {-2, 0}, too_few[2] = {2, 2};
  FAILS(MPI_Dims_create(6, 2, odd), MPI_ERR_DIMS);
  FAILS(MPI_Dims_create(6, 2, negative), MPI_ERR_DIMS);
  FAILS(MPI_Dims_create(6, 2, too_few), MPI_ERR_DIMS);
  FAILS(MPI_Dims_create(0, 2, full), MPI_ERR_ARG);
  FAILS(MPI_Dims_create(6, -1, full), MPI_ERR_DIMS);
}
