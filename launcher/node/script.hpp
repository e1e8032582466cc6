// SPDX-License-Identifier: BSD-3-Clause
// Scripts, as far as can be told without running them: the interpreter that one names, and the
// programs that a shell's script starts whatever happens. In doubt it says nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::launcher {

// The beginning of a regular file; nothing: it is none, or cannot be read.
std::optional<std::string> read_text(const std::string& path);
// "#!/usr/bin/env bash": these words; nothing: the text does not begin so.
std::optional<std::vector<std::string>> interpreter_of(std::string_view text);
// Of a shell's script the commands that run in any case, as words without the assignments before
// them; also those behind "cd FOLDER &&". A change of folder is one of them, {"cd", FOLDER}: from there on paths
// mean something else. Up to one that cannot be told. "$@" and "$1" stand for the script's `arguments`; a command
// with other words of that kind is left out.
using Words = std::vector<std::string>;
std::vector<Words> commands_of_script(std::string_view text, const Words& arguments);

}  // namespace tutti::launcher
