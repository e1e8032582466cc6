// SPDX-License-Identifier: BSD-3-Clause
// Lines on standard error, each with who speaks: "tutti: [rank 3 on node2] …". One write(2) a line,
// so that lines of several processes do not mix. Safe from any thread.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <utility>

namespace tutti {

enum class Level { error, warning, note, debug };

// What stands in brackets behind "tutti: ", e.g. "rank 3 on node2"; empty at first.
void set_speaker(std::string speaker);
const std::string& speaker();
void set_log_level(Level most_verbose);  // default: note
bool log_enabled(Level level);
// Errors go there instead, to a socket whose other end tells them, while it is not -1 and somebody hears.
void tell_errors_to(int fd);
void log_line(Level level, std::string_view text);
// Somebody else's output has gone to where lines of the log go, and ended inside of a line, or not: the next line of
// the log begins a new one. close_line() says whether it has to, and that it has.
void leave_line_open(bool open);
bool close_line();

template <class... Args>
void say(Level level, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level)) log_line(level, fmt::format(format, std::forward<Args>(args)...));
}

// A broken invariant: prints and aborts the process. Never for bad input.
[[noreturn]] void invariant_broken(const char* file, int line, std::string_view text);
#define TUTTI_INVARIANT(condition, text)                   \
  do {                                                     \
    if (!(condition)) [[unlikely]]                         \
      ::tutti::invariant_broken(__FILE__, __LINE__, text); \
  } while (false)

}  // namespace tutti
