// SPDX-License-Identifier: BSD-3-Clause
// Text that others wrote, on its way to a terminal: names that a program gives, records of ranks,
// words of files. A terminal obeys escape sequences, so that a name could move the cursor, change
// the title or, on some, type commands.
#pragma once

#include <string>
#include <string_view>

namespace tutti {

// `text` with every control character, and every byte that is no UTF-8, as "\x1b"; so are the
// characters that change the direction of writing. Whatever `kept` lists stays ("\n\t").
std::string printable(std::string_view text, std::string_view kept = "");

}  // namespace tutti
