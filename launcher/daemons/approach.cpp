// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/daemons/approach.hpp"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace tutti::launcher {

int begin_to_connect(const std::string& address, int port, int& problem) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  problem = EADDRNOTAVAIL;
  if (::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return -1;
  const int fd = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const bool begun = fd >= 0 && (::connect(fd, found->ai_addr, found->ai_addrlen) == 0 || errno == EINPROGRESS);
  problem = errno;
  ::freeaddrinfo(found);
  if (begun) return fd;
  if (fd >= 0) ::close(fd);
  return -1;
}

int error_of(int fd) {
  int problem = 0;
  socklen_t size = sizeof problem;
  ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &size);
  return problem;
}

Approach::Approach(Loop& loop, const DaemonStart::Ancestor& to, Events events)
    : loop_(loop), to_(to), events_(std::move(events)) {
  writable_ = loop.after(std::chrono::nanoseconds(0), [this] { try_next(); });
}

Approach::~Approach() {
  close();
}

void Approach::close() {
  writable_.reset();
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void Approach::try_next() {
  close();
  while (next_ < to_.addresses.size()) {
    int problem = 0;
    fd_ = begin_to_connect(to_.addresses[next_++], to_.port, problem);
    if (fd_ < 0) {
      all_refused_ = all_refused_ && problem == ECONNREFUSED;
      continue;
    }
    writable_ = loop_.writable(fd_, [this] { look(); });
    return;
  }
  events_.failed(all_refused_);
}

void Approach::look() {
  if (const int problem = error_of(fd_); problem != 0) {
    all_refused_ = all_refused_ && problem == ECONNREFUSED;
    return try_next();
  }
  writable_.reset();
  events_.connected(std::exchange(fd_, -1));
}

}  // namespace tutti::launcher
