// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/loop/acceptor.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace tutti::launcher {
namespace {
constexpr auto kRest = std::chrono::milliseconds(100);
}  // namespace

Acceptor::Acceptor(Loop& loop, int listener, Events events)
    : loop_(loop), listener_(listener), events_(std::move(events)) {
  watch();
}

Acceptor::~Acceptor() {
  ready_.reset();
  ::close(listener_);
}

void Acceptor::watch() {
  ready_ = loop_.readable(listener_, [this] { accept_one(); });
}

void Acceptor::rest() {
  ready_.reset();
  rested_ = loop_.after(kRest, [this] { watch(); });
}

void Acceptor::accept_one() {
  if (!events_.has_room()) return rest();
  const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd >= 0) return events_.accepted(fd);
  if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
    const std::string why = std::strerror(errno);
    rest();
    if (!std::exchange(has_complained_, true)) events_.unable(why);
  }
  // Everything else is the end of the connection that was to be taken.
}

}  // namespace tutti::launcher
