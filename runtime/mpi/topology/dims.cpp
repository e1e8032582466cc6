// SPDX-License-Identifier: BSD-3-Clause
// MPI_Dims_create: a number of processes as a product of extents that are as close to each other as
// possible.
#include <algorithm>
#include <vector>

#include "mpi/topology/api_topology.hpp"

namespace tutti::mpi::topology {
namespace {

// The factors of the best product found, in descending order. "Close" is the smallest quotient of the
// largest and the smallest extent, then the smallest sum.
class Search {
 public:
  Search(int64_t product, int factors) : wanted_(static_cast<size_t>(factors)) {
    for (int64_t d = 1; d * d <= product; ++d) {
      if (product % d != 0) continue;
      divisors_.push_back(d);
      if (d * d != product) divisors_.push_back(product / d);
    }
    std::ranges::sort(divisors_);
    try_from(product, product);
  }
  const std::vector<int64_t>& best() const { return best_; }

 private:
  // Whether `factors` more of at most `most` can make `product`.
  static bool can_reach(int64_t product, size_t factors, int64_t most) {
    for (; factors > 0 && product > 1; --factors) product = (product + most - 1) / most;
    return product <= 1;
  }
  void try_from(int64_t product, int64_t most) {
    const size_t left = wanted_ - chosen_.size();
    if (left == 1) {
      if (product > most) return;
      chosen_.push_back(product);
      judge();
      chosen_.pop_back();
      return;
    }
    for (const int64_t factor : divisors_) {
      if (factor > most || factor > product) break;
      if (product % factor != 0 || !can_reach(product, left, factor)) continue;
      // The smallest extent is at most the left-th root of what is left, whatever follows.
      if (!chosen_.empty() && is_worse_already(product)) return;
      chosen_.push_back(factor);
      if (!is_worse_already(product / factor)) try_from(product / factor, factor);
      chosen_.pop_back();
    }
  }
  // With what is left to be divided the smallest extent cannot be large enough any more.
  bool is_worse_already(int64_t product) const {
    if (best_.empty() || chosen_.empty()) return false;
    const size_t left = wanted_ - chosen_.size();
    int64_t smallest = 1;  // the left-th root of `product`, rounded down, as far as it matters
    while (power_at_most(smallest + 1, left, product)) ++smallest;
    return chosen_.front() * best_.back() > best_.front() * smallest;
  }
  static bool power_at_most(int64_t base, size_t exponent, int64_t limit) {
    int64_t power = 1;
    for (size_t i = 0; i < exponent; ++i) {
      if (power > limit / base) return false;
      power *= base;
    }
    return true;
  }
  static int64_t sum(const std::vector<int64_t>& factors) {
    int64_t total = 0;
    for (const int64_t factor : factors) total += factor;
    return total;
  }
  void judge() {
    if (!best_.empty()) {
      const int64_t mine = chosen_.front() * best_.back(), other = best_.front() * chosen_.back();
      if (mine > other || (mine == other && sum(chosen_) >= sum(best_))) return;
    }
    best_ = chosen_;
  }

  const size_t wanted_;
  std::vector<int64_t> divisors_, chosen_, best_;
};

}  // namespace

Error dims_create(int nnodes, int ndims, int* dims) {
  if (nnodes < 1) return failure(MPI_ERR_ARG, "{} nodes cannot be arranged (argument nnodes)", nnodes);
  if (ndims < 0) return failure(MPI_ERR_DIMS, "{} is no number of dimensions (argument ndims)", ndims);
  if (ndims > 0 && !dims) return failure(MPI_ERR_ARG, "the array is NULL (argument dims)");
  int64_t fixed = 1;
  int free = 0;
  for (int i = 0; i < ndims; ++i) {
    if (dims[i] < 0)
      return failure(MPI_ERR_DIMS, "dimension {} has the negative extent {} (argument dims)", i, dims[i]);
    if (dims[i] == 0)
      ++free;
    else if (__builtin_mul_overflow(fixed, dims[i], &fixed))
      fixed = int64_t{nnodes} + 1;  // more than there are, whatever follows
    if (fixed > nnodes) break;
  }
  if (fixed > nnodes || nnodes % fixed != 0 || (free == 0 && fixed != nnodes && ndims > 0))
    return failure(MPI_ERR_DIMS,
                   "{} nodes are no multiple of the product of the extents that are given (argument dims)", nnodes);
  if (free == 0) return {};
  const Search search(nnodes / fixed, free);
  auto next = search.best().begin();
  for (int i = 0; i < ndims; ++i)
    if (dims[i] == 0) dims[i] = static_cast<int>(*next++);
  return {};
}

}  // namespace tutti::mpi::topology
