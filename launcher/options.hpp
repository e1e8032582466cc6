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

#include "base/config.hpp"
#include "base/result.hpp"

namespace tutti::launcher {

// One program of the job; several stand between ':'.
struct AppOptions {
  std::optional<int> ranks;            // -n; absent: one for each slot
  std::vector<std::string> hosts;      // --host, each "name" or "name:slots"
  std::vector<std::string> variables;  // -x, each "NAME" or "NAME=value"
  std::string folder;                  // --wdir; empty: the current one
  std::vector<std::string> command;    // the program and its arguments
};

struct RunOptions {
  std::vector<AppOptions> apps;
  std::string hostfile;
  std::string map_by, bind_to;  // empty: as set
  std::vector<GivenSetting> settings;
  std::vector<std::string> process_sets;  // --pset, each "NAME=RANKS"
  std::string memory_kinds;               // --memory-alloc-kinds
  std::string initial_errhandler;         // --initial-errhandler
  std::chrono::nanoseconds timeout{0};  // 0: none
  bool report_bindings = false;
  bool tag_output = false;
  bool help = false, version = false;
};

Result<RunOptions> parse_run_options(const std::vector<std::string>& arguments);
std::string run_help(std::string_view command);  // how it was called: "mpirun" or "tutti run"

}  // namespace tutti::launcher
