// SPDX-License-Identifier: BSD-3-Clause
// The environment of ranks: lists of "NAME=value". Ranks of other nodes get the launcher's, except
// for what says something about its host or login session; those come from their own node.
#pragma once

#include <string>
#include <vector>

#include "base/config.hpp"
#include "launcher/place/run_options.hpp"

namespace tutti::launcher {

// Ours, with the settings as they were resolved here.
std::vector<std::string> job_environment(const Config& config);

std::vector<std::string> without_host_variables(std::vector<std::string> environment);
std::vector<std::string> with_own_host_variables(std::vector<std::string> environment);

// What --unset, -genvlist and -genvnone leave of it. The launcher's own settings stay in any case, and
// so does where programs and libraries are found.
void inherit(std::vector<std::string>& environment, const Inheritance& what);
// "A*": all that begin so; another pattern is a name.
bool matches(std::string_view pattern, std::string_view name);
// Those of this process whose names match, each "NAME=value".
std::vector<std::string> own_variables(std::string_view pattern);

// Replaces the variable if it is there.
void put_variable(std::vector<std::string>& environment, const std::string& pair);
std::string variable(const std::vector<std::string>& environment, const std::string& name);

// Who a rank is, for programs that want to know it before MPI_Init, such as to choose a GPU: by the names that Open MPI
// and MPICH's kin give it, which scripts read, and by ours.
struct RankNumbers {
  int rank, size, local_rank, local_size;  // local: of those on its node
};
void put_rank_numbers(std::vector<std::string>& environment, const RankNumbers& numbers);
// Those of a job of ours that this one is started in, which would say something wrong here.
void drop_rank_numbers(std::vector<std::string>& environment);

// For programs built with -fsanitize: names this installation's lists of what the sanitizers would say of
// the libraries below MPI. What the user has set stands behind it and so goes before it.
void put_sanitizer_options(std::vector<std::string>& environment);

}  // namespace tutti::launcher
