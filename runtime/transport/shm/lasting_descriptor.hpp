// SPDX-License-Identifier: BSD-3-Clause
// A descriptor that is there from the start, and readable when somebody has rung the doorbell, which has its socket
// only once it is armed.
#pragma once

namespace tutti::transport {

class LastingDescriptor {
 public:
  LastingDescriptor();
  ~LastingDescriptor();
  LastingDescriptor(const LastingDescriptor&) = delete;

  int number() const { return epoll_; }
  // Of the doorbell's socket, which is there. False: it cannot be waited for.
  bool hold(int socket);

 private:
  const int epoll_;
  bool holds_ = false;
};

}  // namespace tutti::transport
