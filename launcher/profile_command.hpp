// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace tutti::launcher {

// From its arguments to the exit code.
int profile_command(const std::vector<std::string>& arguments);

}  // namespace tutti::launcher
