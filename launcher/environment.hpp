// SPDX-License-Identifier: BSD-3-Clause
// The environment of ranks: lists of "NAME=value". Ranks of other nodes get the launcher's, except
// for what says something about its host or login session; those come from their own node.
#pragma once

#include <string>
#include <vector>

#include "base/config.hpp"

namespace tutti::launcher {

// Ours, with the settings as they were resolved here.
std::vector<std::string> job_environment(const Config& config);

std::vector<std::string> without_host_variables(std::vector<std::string> environment);
std::vector<std::string> with_own_host_variables(std::vector<std::string> environment);

// Replaces the variable if it is there.
void put_variable(std::vector<std::string>& environment, const std::string& pair);
std::string variable(const std::vector<std::string>& environment, const std::string& name);

// For programs built with -fsanitize: names this installation's lists of what the sanitizers would say of
// the libraries below MPI. What the user has set stands behind it and so goes before it.
void put_sanitizer_options(std::vector<std::string>& environment);

}  // namespace tutti::launcher
