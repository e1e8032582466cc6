// SPDX-License-Identifier: BSD-3-Clause
// Prints what the synchronisation of a window takes with up to a million ranks that are made up: messages of the job, of the rank
// at whose memory all are and of one in the middle, what that is told of whom it waits for, and the time by the net's clock.
// Arguments: the numbers of ranks, else 1000, 10000 and 100000.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "windows_net.hpp"

int main(int argc, char** argv) {
  using namespace tutti::scale;
  std::vector<int> numbers;
  for (int i = 1; i < argc; ++i) numbers.push_back(std::atoi(argv[i]));
  if (numbers.empty()) numbers = {1000, 10'000, 100'000};
  fmt::print("{:>8} {:<50} {:>9} {:>9} {:>10} {:>7} {:>9} {:>8} {:>9}\n", "ranks", "what", "messages", "at one",
             "bytes", "another", "told", "longest", "wall, s");
  for (const int ranks : numbers)
    for (const WindowCase& each : window_cases()) {
      const auto begin = std::chrono::steady_clock::now();
      WindowsNet net(ranks);
      int done = 0;
      each.begin(net, done);
      net.run();
      const WindowLoad& busiest = net.loads[0];
      fmt::print("{:>8} {:<50} {:>9} {:>9} {:>10} {:>7} {:>9} {:>8} {:>9.2f}{}\n", ranks, each.name, net.messages(),
                 busiest.messages, busiest.bytes, net.loads[static_cast<size_t>(ranks / 2)].messages, busiest.told,
                 busiest.longest, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
                 done == ranks ? "" : " NOT OVER");
      std::fflush(stdout);
    }
}
