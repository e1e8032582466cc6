// SPDX-License-Identifier: BSD-3-Clause
// Files that name the programs of a job: lines of words, and which program each rank is where a file says so by ranks
// (srun --multi-prog).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "launcher/words/options.hpp"

namespace tutti::launcher {

struct WordLine {
  int number;  // the last one that it took, from 1
  std::vector<std::string> words;
};

// The lines that have words. Quotes keep blanks, as in a shell; a backslash at the end of a line continues it, and a '#'
// begins a comment.
Result<std::vector<WordLine>> word_lines(const std::string& content, std::string_view file);

// Lines "RANKS PROGRAM ARGUMENTS", RANKS being 0-2,5 or '*' for all that no other line names; in arguments %t stands for
// the rank and %o for its place among those of the line. `like` has what all programs share, and the number of ranks, if
// one was given. Each of the result has consecutive ranks.
Result<std::vector<AppOptions>> programs_by_ranks(const std::string& content, std::string_view file,
                                                  const AppOptions& like);

}  // namespace tutti::launcher
