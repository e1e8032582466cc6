// SPDX-License-Identifier: BSD-3-Clause
// What the fault points of the tests' own library do (runtime/base/fault_point.hpp).
#include "base/fault_point.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace tutti {
namespace {

struct Order {
  std::string name;  // empty: nobody dies
  long nth = 0;
};

// Read when the first point is reached, behind which the program does not change its environment.
Order order() {
  const char* const text = std::getenv("TUTTI_TEST_DIE");
  const char* const rank = std::getenv("PMIX_RANK");
  if (!text || !rank) return {};
  const std::string_view all(text);
  const size_t nth = all.rfind(':'), whose = all.rfind(':', nth - 1);
  if (nth == std::string_view::npos || whose == std::string_view::npos) return {};
  if (all.substr(whose + 1, nth - whose - 1) != rank) return {};
  return {std::string(all.substr(0, whose)), std::atol(text + nth + 1)};
}

}  // namespace

void reach_fault_point(const char* name) {
  static const Order& mine = *new Order(order());
  static std::atomic<long> times{0};
  if (mine.name != name || times.fetch_add(1) + 1 != mine.nth) return;
  char text[200];
  const int length = std::snprintf(text, sizeof text, "test: a rank dies at %s\n", name);
  [[maybe_unused]] const ssize_t said = ::write(STDERR_FILENO, text, static_cast<size_t>(length));
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

}  // namespace tutti
