// SPDX-License-Identifier: BSD-3-Clause
// Words about another process that may only be the echo of its end. Who sees that end says what
// happened, and ends this process as well: then the echo is left out.
#pragma once

#include <chrono>
#include <string>

namespace tutti {

// How long such a word is kept back.
constexpr std::chrono::seconds kTimeToEnd{2};

// An error line, kTimeToEnd from now or at a regular exit, whichever comes first; never, when this
// process is ended before. The first few of a process. Any thread.
void say_unless_ended(std::string text);

}  // namespace tutti
