// SPDX-License-Identifier: BSD-3-Clause
// Parallel sample sort: allgather of samples, alltoall of counts, alltoallv of keys; then everything is
// checked: order within and across ranks, and that it is the same multiset of keys.
#include "check.hpp"

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  const int size = world.size(), rank = world.rank();
  const int n = 20000 + 1000 * (rank % 3);  // not the same everywhere
  std::vector<unsigned> keys(n);
  for (int i = 0; i < n; ++i) keys[i] = check::mix(rank, i) % (rank % 2 ? 1000 : 4000000000u);
  std::sort(keys.begin(), keys.end());

  constexpr int kSamples = 32;
  std::vector<unsigned> mine(kSamples), samples(kSamples * size), splitters;
  for (int i = 0; i < kSamples; ++i) mine[i] = keys[static_cast<size_t>(i) * n / kSamples];
  OK(MPI_Allgather(mine.data(), kSamples, MPI_UNSIGNED, samples.data(), kSamples, MPI_UNSIGNED, MPI_COMM_WORLD));
  std::sort(samples.begin(), samples.end());
  for (int r = 1; r < size; ++r) splitters.push_back(samples[r * kSamples]);

  std::vector<int> out(size), in(size), from_out(size), from_in(size);
  for (int r = 0; r < size; ++r) {
    const auto begin = r == 0 ? keys.begin() : std::lower_bound(keys.begin(), keys.end(), splitters[r - 1]);
    const auto end = r == size - 1 ? keys.end() : std::lower_bound(keys.begin(), keys.end(), splitters[r]);
    from_out[r] = begin - keys.begin();
    out[r] = std::max<int>(0, end - begin);
  }
  OK(MPI_Alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, MPI_COMM_WORLD));
  std::partial_sum(in.begin(), in.end() - 1, from_in.begin() + 1);
  std::vector<unsigned> sorted(from_in.back() + in.back());
  OK(MPI_Alltoallv(keys.data(), out.data(), from_out.data(), MPI_UNSIGNED, sorted.data(), in.data(), from_in.data(),
                   MPI_UNSIGNED, MPI_COMM_WORLD));
  std::sort(sorted.begin(), sorted.end());

  // The largest key below me, over empty ranks too.
  unsigned last = sorted.empty() ? 0 : sorted.back(), before = 0;
  OK(MPI_Exscan(&last, &before, 1, MPI_UNSIGNED, MPI_MAX, MPI_COMM_WORLD));
  if (rank > 0 && !sorted.empty()) CHECK(before <= sorted.front());
  // Count, sum and a sum of mixed keys: the same before and after.
  const auto digest = [](const std::vector<unsigned>& all) {
    std::vector<unsigned long long> d = {all.size(), 0, 0};
    for (unsigned k : all) d[1] += k, d[2] += check::mix(k);
    return d;
  };
  const auto a = digest(keys), b = digest(sorted);
  std::vector<unsigned long long> total_a(3), total_b(3);
  OK(MPI_Allreduce(a.data(), total_a.data(), 3, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
  OK(MPI_Allreduce(b.data(), total_b.data(), 3, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
  CHECK(total_a == total_b);
}
