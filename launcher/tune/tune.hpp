// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace tutti::launcher {

// `tutti tune`: from its arguments to the exit code.
int tune_command(const std::vector<std::string>& arguments);

}  // namespace tutti::launcher
