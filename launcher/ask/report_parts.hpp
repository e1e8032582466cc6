// SPDX-License-Identifier: BSD-3-Clause
// The parts of `tutti report`: each looks at one thing and prints what it finds, plainly; what must not be told is taken
// out by whoever hears it. Each runs in a child of its own, for it may stand still.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::launcher {

struct ReportPart {
  std::string_view title;
  std::chrono::seconds limit;
  int (*print)();
};
std::span<const ReportPart> report_parts();

// A name that a report must not tell: "host", "user" or "home", or a "secret".
using TellName = std::function<void(std::string_view kind, std::string_view name)>;
// Those that the environment and the kernel know: looks at no file.
void names_at_hand(const TellName& tell);
// Those that take a look at files and other processes: users and hosts that this machine knows, nodes of the allocation, of
// running jobs and of the command, what the settings hide. What may stand still comes last.
void names_elsewhere(const std::vector<std::string>& command, const TellName& tell);

}  // namespace tutti::launcher
