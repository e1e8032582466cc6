// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

namespace tutti::launcher {

// A text as JSON has it, in quotes, which may stand in a web page, too. What a terminal would obey is printable, but for
// what `kept` lists, of "\n\t".
std::string json_text(const std::string& text, std::string_view kept = "");

}  // namespace tutti::launcher
