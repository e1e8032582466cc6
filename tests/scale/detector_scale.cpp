// SPDX-License-Identifier: BSD-3-Clause
// Prints what the detector of deadlocks costs with up to a hundred thousand ranks that are made up: rounds, messages and
// bytes of a job and of its busiest rank, the time of that rank's processor, and when a deadlock is told. Arguments: the
// numbers of ranks, else 1000, 10000 and 100000.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "detector_net.hpp"

namespace tutti::contract {
namespace {

struct Case {
  const char* name;
  std::function<void(DetectorNet&)> make;
};

const std::vector<Case> kCases{
    {"a late rank, 2 min", [](DetectorNet& net) { make_late(net, net.ranks() / 2); }},
    {"a late root, 2 min", make_late_root},
    {"any source, right, 2 min", [](DetectorNet& net) { make_master(net, true); }},
    {"any source, deadlock", [](DetectorNet& net) { make_master(net, false); }},
    {"star, deadlock", make_star},
    {"ring, deadlock", make_ring},
};

void print_row(int ranks, const Case& each) {
  DetectorNet net(ranks, true);
  each.make(net);
  net.run(120);
  const Load most = net.most();
  fmt::print("{:>8} {:<26} {:>6} {:>10} {:>9} {:>12} {:>8} {:>10.2f} {:>8}\n", ranks, each.name, net.rounds(),
             net.messages(), most.messages, most.bytes, most.most_in_second, most.processor * 1e3,
             net.found.empty() ? "none" : fmt::format("{:.2f} s", net.found.front().seconds));
  std::fflush(stdout);
}

}  // namespace
}  // namespace tutti::contract

int main(int argc, char** argv) {
  using namespace tutti::contract;
  std::vector<int> numbers;
  for (int i = 1; i < argc; ++i) numbers.push_back(std::atoi(argv[i]));
  if (numbers.empty()) numbers = {1000, 10'000, 100'000};
  fmt::print("{:>8} {:<26} {:>6} {:>10} {:>9} {:>12} {:>8} {:>10} {:>8}\n", "ranks", "what", "rounds", "messages",
             "at one", "bytes at one", "a second", "ms at one", "told");
  for (const int ranks : numbers)
    for (const Case& each : kCases) print_row(ranks, each);
}
