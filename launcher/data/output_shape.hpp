// SPDX-License-Identifier: BSD-3-Clause
// The names of the files that the ranks' output is copied into, by the pattern that a user gave.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "launcher/data/node_contract.hpp"
#include "launcher/place/run_options.hpp"

namespace tutti::launcher {

// The file's name of a stream of a rank.
std::string output_file(const OutputShape& shape, int rank, OutputStream stream, const std::string& node,
                        const std::string& job);
// The pattern has only what output_file() knows.
Error check_pattern(std::string_view pattern);

}  // namespace tutti::launcher
