// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/ask/talker.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>

namespace tutti::launcher {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// How often it is looked whether a child has ended whose pipe a process of its own keeps open.
constexpr milliseconds kTick{100};
constexpr milliseconds kDeath{1000};  // for the kernel to end what was killed

// This process is the child of a Talker, or was begun by one.
bool is_inner = false;

// In the child: what it has of ours that it must not have.
// `input`: in the place of its own; -1: that stays.
void become_child(pid_t parent, int out, int input) {
  if (!is_inner) ::setpgid(0, 0);
  is_inner = true;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it has died before it could be watched
  for (const int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(number, SIG_DFL);
  if (input >= 0) ::dup2(input, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
}

int outcome(const std::function<int()>& work) {
  try {
    return work();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}

}  // namespace

Talker::Talker(Talker&& other) noexcept
    : most_(other.most_),
      keep_(other.keep_),
      has_group_(other.has_group_),
      pid_(std::exchange(other.pid_, -1)),
      fd_(std::exchange(other.fd_, -1)),
      input_(std::exchange(other.input_, -1)),
      status_(other.status_),
      left_out_(other.left_out_),
      text_(std::move(other.text_)) {}

bool Talker::begin(const std::function<int()>& work, Input input) {
  int ends[2];
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  const bool has_pipe = ::pipe2(ends, O_CLOEXEC) == 0;
  int inputs[2] = {-1, -1};  // ours, the child's
  if (input == Input::told) static_cast<void>(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, inputs));
  if (inputs[1] < 0 && input != Input::ours) inputs[1] = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  pid_ = has_pipe ? ::fork() : -1;
  if (pid_ == 0) {
    become_child(parent, ends[1], inputs[1]);
    const int code = outcome(work);
    std::fflush(nullptr);
    ::_exit(code);
  }
  if (pid_ < 0) text_ = std::strerror(errno);
  if (inputs[1] >= 0) ::close(inputs[1]);
  input_ = inputs[0];
  if (has_pipe) {
    ::close(ends[1]);
    if (pid_ < 0) ::close(ends[0]);
    fd_ = pid_ < 0 ? -1 : ends[0];
  }
  if (pid_ < 0) return false;
  has_group_ = !is_inner;
  if (has_group_) ::setpgid(pid_, pid_);  // whichever of us comes first
  ::fcntl(fd_, F_SETFL, O_NONBLOCK);
  return true;
}

bool Talker::begin(const std::vector<std::string>& command, Input input) {
  const auto execute = [&command] {
    std::vector<char*> words;
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    ::execvp(words[0], words.data());
    ::dprintf(STDERR_FILENO, "%s: %s\n", words[0], std::strerror(errno));
    return 127;
  };
  return begin(std::function<int()>(execute), input);
}

// All that is in the pipe.
void Talker::read() {
  while (fd_ >= 0) {
    char bytes[1 << 14];
    const ssize_t n = ::read(fd_, bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      ::close(std::exchange(fd_, -1));
      return;
    }
    text_.append(bytes, static_cast<size_t>(n));
    if (text_.size() <= most_) continue;
    const size_t excess = text_.size() - most_;
    left_out_ += excess;
    text_.erase(keep_ == Keep::end ? 0 : most_, excess);
  }
}

void Talker::reap() {
  if (pid_ < 0) return;
  siginfo_t about{};
  if (::waitid(P_PID, static_cast<id_t>(pid_), &about, WEXITED | WNOHANG | WNOWAIT) == 0 && about.si_pid == 0) return;
  if (has_group_) ::kill(-pid_, SIGKILL);  // what it has left running; until it is reaped nobody else has its number
  while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) continue;
  pid_ = -1;
  read();
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));  // one that has left the group may keep the other end
}

void Talker::hear(const std::vector<Talker*>& all, milliseconds patience, const std::function<void()>& meanwhile) {
  const auto end = Clock::now() + patience;
  for (;;) {
    std::vector<pollfd> open;
    bool is_any_left = false, is_any_silent = false;
    for (Talker* each : all) {
      each->read();
      each->reap();
      is_any_left |= !each->has_ended();
      is_any_silent |= !each->has_ended() && each->fd_ < 0;
      if (each->fd_ >= 0) open.push_back({each->fd_, POLLIN, 0});
    }
    if (meanwhile) meanwhile();
    const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
    if (!is_any_left || left.count() <= 0) return;
    // Behind the end of its streams comes, mostly at once, its own.
    const auto tick = is_any_silent ? milliseconds(5) : kTick;
    ::poll(open.data(), open.size(), static_cast<int>(std::min(left, tick).count()));
  }
}

void Talker::tell(std::string_view text) const {
  if (input_ >= 0) static_cast<void>(::send(input_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
}

void Talker::end_input() {
  if (input_ >= 0) ::close(std::exchange(input_, -1));
}

void Talker::signal(int number) const {
  if (pid_ > 0) ::kill(has_group_ ? -pid_ : pid_, number);
}

void Talker::end() {
  end_input();
  if (pid_ > 0) {
    signal(SIGKILL);
    hear({this}, kDeath);
  }
  pid_ = -1;
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

int Talker::exit_code() const {
  return status_ < 0 ? -1 : WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
}

int Talker::ended_by() const {
  return status_ >= 0 && WIFSIGNALED(status_) ? WTERMSIG(status_) : 0;
}

}  // namespace tutti::launcher
