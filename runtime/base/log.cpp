// SPDX-License-Identifier: BSD-3-Clause
#include "base/log.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <utility>

#include "base/flush.hpp"
#include "base/printable.hpp"

namespace tutti {
namespace {

// Written once while the process starts, before other threads exist.
std::string& speaker_store() {
  static auto* store = new std::string;  // never destroyed: threads may speak during exit
  return *store;
}
std::atomic<int> error_listener{-1};
std::atomic<bool> line_is_open{false};
std::atomic<int> most_verbose{static_cast<int>(Level::note)};

const char* label(Level level) {
  switch (level) {
    case Level::error:
      return "error: ";
    case Level::warning:
      return "warning: ";
    case Level::note:
      return "";
    case Level::debug:
      return "debug: ";
  }
  return "";
}

}  // namespace

// clang-format off
void set_speaker(std::string speaker) { speaker_store() = std::move(speaker); }
const std::string& speaker() { return speaker_store(); }
void set_log_level(Level level) { most_verbose = static_cast<int>(level); }
void tell_errors_to(int fd) { error_listener = fd; }
void leave_line_open(bool open) { line_is_open = open; }
bool close_line() { return line_is_open.exchange(false); }
bool log_enabled(Level level) { return static_cast<int>(level) <= most_verbose; }
// clang-format on

void log_line(Level level, std::string_view text) {
  const std::string who = speaker().empty() ? "" : "[" + speaker() + "] ";
  // Names of files, hosts and communicators are others' words.
  std::string line = printable(fmt::format("tutti: {}{}{}\n", who, label(level), text), "\n\t");
  if (const int fd = error_listener; fd >= 0 && level == Level::error) {
    const std::string sentence = fmt::format("{}\n", text);
    if (::send(fd, sentence.data(), sentence.size(), MSG_NOSIGNAL | MSG_DONTWAIT) > 0) return;
    error_listener = -1;
  }
  if (close_line()) line.insert(0, 1, '\n');
  for (size_t done = 0; done < line.size();) {
    const ssize_t n = ::write(STDERR_FILENO, line.data() + done, line.size() - done);
    if (n <= 0) return;  // nobody is left to tell
    done += static_cast<size_t>(n);
  }
}

void invariant_broken(const char* file, int line, std::string_view text) {
  flush_streams();
  log_line(Level::error, fmt::format("broken invariant at {}:{}: {}", file, line, text));
  std::abort();
}

}  // namespace tutti
