// SPDX-License-Identifier: BSD-3-Clause
// `tutti run`, also called mpirun and mpiexec: from the command line to the exit code.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tutti::launcher {

int run_command(std::string_view command, const std::vector<std::string>& arguments);

}  // namespace tutti::launcher
