// SPDX-License-Identifier: BSD-3-Clause
// The lines that `tutti tune` has in a file of settings: between two marks of its own, so that what else stands there stays
// as it is, and so that the next run finds its own and replaces them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace tutti::launcher {

// Names and values of settings, and what is said of them.
struct TunedSettings {
  std::vector<std::string> remarks;
  std::vector<std::pair<std::string, std::string>> values;
};
// As lines of a file, with the marks; empty where there are no values.
std::string tuned_lines(const TunedSettings& settings);

// `text` with these lines in place of those that it had, behind its end if it had none; without both marks in order, and
// once, it is refused.
Result<std::string> with_tuned_lines(std::string_view text, std::string_view lines);

// Whether they can be written into `file`, which need not be there. Refused are a file of which other lines give one of
// `names`, what is no file of settings, and what cannot be written.
Error check_tuned_file(const std::string& file, const std::vector<std::string>& names);
// Writes them; the folder is made. What is refused stays as it is, and no file is made for nothing.
Error write_tuned_lines(const std::string& file, std::string_view lines, const std::vector<std::string>& names);

}  // namespace tutti::launcher
