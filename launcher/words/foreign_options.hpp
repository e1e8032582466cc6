// SPDX-License-Identifier: BSD-3-Clause
// What the tables of other launchers' options share (foreign_options.cpp and its neighbours).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/words/option_table.hpp"

namespace tutti::launcher {

// Of an option that means nothing here, or what is done in any case.
Error accepted(Parse& p, std::string_view value);
// Its row's page says what to type instead.
Error refused(Parse& p, std::string_view value);
// Of an option without which the job is the same but for what its user wanted: its row's page says what to type for that.
Error noted(Parse& p, std::string_view value);

// A whole number from `least` to a million, or nothing.
std::optional<int> whole(std::string_view word, int least);
// What stands between the characters `at`, without what is empty.
std::vector<std::string> parts(std::string_view text, char at);

// What --map-by says, but for what stands behind the word "slot" already, such as pe=2 of --cpus-per-task.
Error map_ranks_by(Parse& p, const std::string& word);

std::vector<Option> placement_options();
std::vector<Option> environment_options();
std::vector<Option> stream_options();
std::vector<Option> slurm_options();   // of srun, that mean something here
std::vector<Option> unused_options();  // that mean nothing here

}  // namespace tutti::launcher
