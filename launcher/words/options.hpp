// SPDX-License-Identifier: BSD-3-Clause
// The command line of `tutti run` (mpirun, mpiexec): one table of options, from which parsing, the
// help text and the suggestions come. Knows words only; whether a host exists or a program can be
// run is for others to say.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "launcher/place/run_options.hpp"

namespace tutti::launcher {

// "90" or "2.5s"; nothing: it is no positive number of seconds.
std::optional<std::chrono::nanoseconds> timeout_of(std::string_view text);
Result<RunOptions> parse_run_options(const std::vector<std::string>& arguments);
std::string run_help(std::string_view command);  // how it was called: "mpirun" or "tutti run"
// On one option, or on "options": all of the table. Nothing: there is no such topic.
std::optional<std::string> help_on(std::string_view topic);

}  // namespace tutti::launcher
