// SPDX-License-Identifier: BSD-3-Clause
// Prints what mpirun sends, hears and holds, and what it takes of a processor, for jobs of many ranks that are made up:
// to launch them, to spread their addresses, to ask what they do, and when they end. Arguments: the numbers of ranks, else
// 1,000 to 1,000,000.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

#include "daemons_net.hpp"

namespace tutti::launcher {
namespace {

void print_row(int ranks, int ranks_a_node, const char* what, const Cost& cost) {
  fmt::print("{:>8} {:>6} {:<12} {:>8} {:>13} {:>8} {:>13} {:>8.1f} {:>9.3f}\n", ranks, ranks_a_node, what, cost.sent,
             cost.sent_bytes, cost.heard, cost.heard_bytes, static_cast<double>(cost.most_memory) * 1e-6,
             cost.processor);
  std::fflush(stdout);
}

void print_job(int ranks, int ranks_a_node) {
  NodeTask task = made_up_task(ranks, ranks_a_node);
  fmt::print("{:>8} {:>6} launch message: {} bytes, {} with places at random\n", ranks, ranks_a_node,
             wire::pack(task).size(), wire::pack(made_up_task(ranks, ranks_a_node, Places::at_random)).size());
  DaemonsNet net(std::move(task), 32);
  print_row(ranks, ranks_a_node, "launch", net.launch());
  print_row(ranks, ranks_a_node, "addresses", net.spread_addresses());
  std::optional<JobView> view;
  print_row(ranks, ranks_a_node, "tutti why", net.ask(view));
  print_row(ranks, ranks_a_node, "end",
            net.end([](int) { return RankEnd{.pid = 4711, .connected = true, .finalized = true, .cause = {}}; }));
}

}  // namespace
}  // namespace tutti::launcher

// Each of the nodes reads the names of all, here in one process.
constexpr int kMostNodesHere = 10'000;

int main(int argc, char** argv) {
  std::vector<int> numbers;
  for (int i = 1; i < argc; ++i) numbers.push_back(std::atoi(argv[i]));
  if (numbers.empty()) numbers = {1000, 10'000, 100'000, 1'000'000};
  fmt::print("{:>8} {:>6} {:<12} {:>8} {:>13} {:>8} {:>13} {:>8} {:>9}\n", "ranks", "a node", "what", "sent", "bytes",
             "heard", "bytes", "MB", "s");
  for (const int ranks : numbers)
    for (const int ranks_a_node : {32, 128})
      if (ranks / ranks_a_node <= kMostNodesHere) tutti::launcher::print_job(ranks, ranks_a_node);
}
