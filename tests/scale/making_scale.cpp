// SPDX-License-Identifier: BSD-3-Clause
// Prints what dividing a communicator of many ranks takes of one of them: the runs in which colors and keys are told, the
// bytes that it holds for a moment and those that it keeps, the simulated time of the reduction, and what its own part
// takes by the wall. Without arguments for 10,240 to 1,024,000 ranks; else: RANKS, a multiple of 10,240.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "making.hpp"

namespace tutti::scale {
namespace {

void print_rows(int ranks) {
  const std::vector<int> node_of = nodes_of(ranks);
  const ProcessList world = ProcessList::range(0, ranks);
  const model::Outcome reduction = reduction_of(ranks, sizeof(SplitRuns));
  for (const Division& division : divisions(ranks)) {
    int64_t joining = 0;
    const SplitRuns all = joined(division.rule, 0, ranks, joining);
    if (all.too_many()) {
      fmt::print("{:>8} {:<33} a table of all ranks\n", ranks, division.name);
      continue;
    }
    Made worst;
    for (const int rank : {0, 1, ranks / 3, ranks - 1}) {
      const Said mine = division.rule(rank);
      if (mine.color < 0) continue;
      const Made made = made_at(all, mine, rank, world, node_of);
      if (made.most >= worst.most) worst = made;
    }
    const int64_t most = std::max(joining, worst.most) + 3 * static_cast<int64_t>(sizeof all);
    fmt::print("{:>8} {:<33} {:>5} {:>10} {:>10} {:>11.1f} {:>9.2f}\n", ranks, division.name, all.runs().size(), most,
               worst.kept, reduction.seconds * 1e6, worst.seconds * 1e3);
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace tutti::scale

int main(int argc, char** argv) {
  using namespace tutti::scale;
  fmt::print("{:>8} {:<33} {:>5} {:>10} {:>10} {:>11} {:>9}\n", "ranks", "division", "runs", "most B", "kept B",
             "reduced us", "rank ms");
  if (argc > 1) {
    print_rows(std::atoi(argv[1]));
    return 0;
  }
  for (const int ranks : {10'240, 102'400, 1'024'000}) print_rows(ranks);
  const Met met = tutti::scale::met(10'000, 10'000);
  fmt::print("\n10,000 ranks meet 10,000: numbers told {} B, most {} B\n", met.told, met.most);
  return 0;
}
