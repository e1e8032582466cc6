// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/lasting_descriptor.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include "base/log.hpp"

namespace tutti::transport {

LastingDescriptor::LastingDescriptor() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  TUTTI_INVARIANT(epoll_ >= 0, "no descriptor left for epoll");
}

LastingDescriptor::~LastingDescriptor() {
  close(epoll_);
}

bool LastingDescriptor::hold(int socket) {
  if (holds_) return true;
  epoll_event event{.events = EPOLLIN};
  holds_ = epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event) == 0;
  return holds_;
}

}  // namespace tutti::transport
