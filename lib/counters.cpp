// SPDX-License-Identifier: BSD-3-Clause
#include "counters.hpp"

#include "base/log.hpp"
#include "function_names.hpp"
#include "functions.hpp"

namespace tutti::lib {
namespace {

// When the process ends, at log.level debug: what it has called.
struct Report {
  ~Report() {
    if (!log_enabled(Level::debug)) return;
    for (size_t i = 0; i < kFunctionCount; ++i)
      if (const uint64_t calls = counters[i].load(std::memory_order_relaxed))
        log_line(Level::debug, fmt::format("{} was called {} time{}", kFunctionNames[i], calls, calls == 1 ? "" : "s"));
  }
} report;

}  // namespace
}  // namespace tutti::lib
