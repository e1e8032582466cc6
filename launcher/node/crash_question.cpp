// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/node/crash_question.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/os/source_place.hpp"
#include "launcher/node/crashes.hpp"

extern char** environ;

namespace tutti::launcher {
namespace {

constexpr std::chrono::milliseconds kPatience{
    4500};  // the process itself gives up two questions after two seconds each, and a record that is not whole after .4
constexpr size_t kLongestReport = 64 << 10;

}  // namespace

CrashQuestion::CrashQuestion(Loop& loop, Reaper& reaper, std::string folder, int rank, std::string node, Tell tell)
    : reaper_(reaper), folder_(std::move(folder)), node_(std::move(node)), rank_(rank), tell_(std::move(tell)) {
  if (ask()) {
    heard_ = loop.readable(fd_, [this] { hear(); });
    late_ = loop.after(kPatience, [this] { end(); });
  } else {
    late_ = loop.after(std::chrono::nanoseconds(0), [this] { end(); });
  }
}

CrashQuestion::~CrashQuestion() {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
  if (fd_ >= 0) ::close(fd_);
}

bool CrashQuestion::ask() {
  std::string words[] = {where_program(), "--crash", folder_, std::to_string(rank_), node_};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), words[4].data(), nullptr};
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  fd_ = ends[0];
  ::fcntl(fd_, F_SETFL, O_NONBLOCK);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  const int problem = ::posix_spawn(&pid_, arguments[0], &actions, nullptr, arguments, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (problem != 0) return pid_ = -1, false;
  reaper_.expect(pid_, [this](int, int64_t) { pid_ = -1; });
  return true;
}

void CrashQuestion::hear() {
  char chunk[4096];
  const ssize_t n = ::read(fd_, chunk, sizeof chunk);
  if (n > 0) said_.append(chunk, static_cast<size_t>(n));
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n <= 0 || said_.size() > kLongestReport) end();
}

void CrashQuestion::end() {
  if (std::exchange(over_, true)) return;
  if (pid_ > 0) ::kill(pid_, SIGKILL);
  if (said_.ends_with('\n')) {
    said_.pop_back();
    tell_(said_);
  } else if (const auto crash = find_crash(folder_, rank_, node_, Places::of_files)) {
    tell_(crash->text);
  }
  heard_.reset();  // last: one of them is who has called
  late_.reset();
}

bool has_crash_record(const std::string& folder, int rank) {
  struct stat about{};
  return ::lstat((folder + "/" + crash::kFilePrefix + std::to_string(rank)).c_str(), &about) == 0;
}

}  // namespace tutti::launcher
