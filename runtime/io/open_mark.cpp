// SPDX-License-Identifier: BSD-3-Clause
#include "io/open_mark.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <string_view>

#include "io/identity.hpp"

namespace tutti::io {
namespace {

// Of all marks of a file; empty where its numbers may be another one's, too.
std::string beginning(const struct stat& about, const struct statfs& on) {
  if (!S_ISREG(about.st_mode) || system_of(on) == System::unknown) return {};
  return fmt::format("tutti.open.{:x}.{:x}.", about.st_dev, about.st_ino);
}

struct Address {
  sockaddr_un bytes{};
  socklen_t length;

  // The zero in front is what gives a socket a name without a path.
  explicit Address(std::string_view name) {
    bytes.sun_family = AF_UNIX;
    const size_t n = name.copy(bytes.sun_path + 1, sizeof bytes.sun_path - 1);
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + n);
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

int make_socket() {
  return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

// A mark that is removed may still have a name, which a child of fork() keeps.
bool is_set(std::string_view name) {
  const int fd = make_socket();
  if (fd < 0) return false;
  const Address address(name);
  const bool heard = ::connect(fd, address.get(), address.length) == 0 || errno == EAGAIN;
  ::close(fd);
  return heard;
}

bool is_there(int process) {
  return ::kill(process, 0) == 0 || errno == EPERM;
}

}  // namespace

void OpenMark::set(int fd, int rank) {
  static std::atomic<unsigned> serial{0};
  remove();
  struct stat about{};
  struct statfs on{};
  if (::fstat(fd, &about) != 0 || ::fstatfs(fd, &on) != 0) return;
  const std::string file = beginning(about, on);
  if (file.empty() || (socket_ = make_socket()) < 0) return;
  const Address address(fmt::format("{}{}.{}.{}", file, ::getpid(), rank, serial++));
  constexpr int kAsking = 8;  // one more is told to try again, which is an answer, too
  if (::bind(socket_, address.get(), address.length) != 0 || ::listen(socket_, kAsking) != 0) remove();
}

void OpenMark::remove() {
  if (socket_ < 0) return;
  ::shutdown(socket_, SHUT_RDWR);
  ::close(socket_);
  socket_ = -1;
}

std::optional<Opener> find_opener(const std::string& path) {
  struct stat about{};
  struct statfs on{};
  if (::lstat(path.c_str(), &about) != 0 || ::statfs(path.c_str(), &on) != 0) return {};
  const std::string file = beginning(about, on);
  if (file.empty()) return {};
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);) {
    const size_t at = line.find("@" + file);
    if (at == line.npos) continue;
    const std::string name = line.substr(at + 1);
    Opener found{};
    if (std::sscanf(name.c_str() + file.size(), "%d.%d.", &found.process, &found.rank) == 2 &&
        is_there(found.process) && is_set(name))
      return found;
  }
  return {};
}

}  // namespace tutti::io
