// SPDX-License-Identifier: BSD-3-Clause
// Prints what collective calls take with up to a million ranks, by the model of runtime/model: time, the least that it can
// be, steps, and the memory of plans. Without arguments all tables; else: RANKS RANKS_A_NODE [COLLECTIVE [BYTES]]. By
// the rules in the file TUTTI_COLLECTIVES_RULES in place of the shipped ones, as in a job.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "asks.hpp"
#include "model/simulation.hpp"

namespace tutti::model {
namespace {

void print_head() {
  fmt::print("{:>8} {:>5} {:<21} {:>10} {:<18} {:>11} {:>6} {:>8} {:>10} {:>10} {:>9} {:>8}\n", "ranks", "/node",
             "call", "bytes", "algorithm", "us", "/bound", "steps", "plan B", "scratch B", "build ms", "by");
}

const coll::Selection& rules() {
  static const std::shared_ptr<const coll::Selection> all = [] {
    const char* file = std::getenv("TUTTI_COLLECTIVES_RULES");
    const auto loaded = coll::Selection::load("", file ? file : "");
    if (!loaded) fmt::print(stderr, "{}\n", loaded.error().message()), std::exit(2);
    return *loaded;
  }();
  return *all;
}

void print_row(const Job& job, const Ask& ask) {
  const Costs costs;
  const Outcome got = simulate(costs, job, ask, rules());
  const double bound = bound_of(costs, job, ask).seconds();
  fmt::print("{:>8} {:>5} {:<21} {:>10} {:<18} ", job.ranks, job.node_ranks, coll::name_of(ask.kind), ask.bytes,
             got.algorithm);
  if (!got.whole) {
    fmt::print("{:>11} {:>6} {:>8} {:>10} {:>10} {:>9.2f} {}\n", "", "", got.steps, got.plan_bytes, got.scratch_bytes,
               got.build_seconds * 1e3, got.why);
    std::fflush(stdout);
    return;
  }
  fmt::print("{:>11.1f} {:>6.2f} {:>8} {:>10} {:>10} {:>9.2f} {:>8}\n", got.seconds * 1e6, got.seconds / bound,
             got.steps, got.plan_bytes, got.scratch_bytes, got.build_seconds * 1e3,
             got.ranks == Ranks::all ? "ranks" : "a node");
  std::fflush(stdout);
}

int print_tables() {
  for (const int ranks : {1 << 10, 1 << 14, 1 << 17, 1 << 20})
    for (const int node_ranks : {32, 64, 128, 256}) {
      print_head();
      for (const Ask& ask : asks(ranks)) print_row({ranks, node_ranks}, ask);
    }
  return 0;
}

}  // namespace
}  // namespace tutti::model

int main(int argc, char** argv) {
  using namespace tutti;
  using namespace tutti::model;
  if (argc < 3) return print_tables();
  const Job job{std::atoi(argv[1]), std::atoi(argv[2])};
  print_head();
  for (const Ask& ask : asks(job.ranks)) {
    if (argc > 3 && coll::name_of(ask.kind) != argv[3]) continue;
    print_row(job, {ask.kind, argc > 4 ? std::atoll(argv[4]) : ask.bytes});
    if (argc > 4) break;
  }
  return 0;
}
