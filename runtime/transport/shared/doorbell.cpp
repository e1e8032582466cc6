// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shared/doorbell.hpp"

#include <linux/membarrier.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <utility>

namespace tutti::transport {
namespace {

long membarrier(int command) {
  return syscall(SYS_membarrier, command, 0, 0);
}

// One for the process: rings for all of its engines.
int ringing_socket() {
  static const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  return fd;
}

}  // namespace

bool Doorbell::fences_ = true;

void use_remote_fences() {
  if (Doorbell::fences_ && membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0) Doorbell::fences_ = false;
}

Doorbell::~Doorbell() {
  disarm();
  if (socket_ >= 0) close(socket_);
}

// The kernel chooses an abstract name: nothing to clean up, nothing to be taken by others before.
bool Doorbell::open() {
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  socklen_t length = sizeof name.sun_family;
  if (bind(fd, reinterpret_cast<sockaddr*>(&name), length) != 0 ||
      (length = sizeof name, getsockname(fd, reinterpret_cast<sockaddr*>(&name), &length)) != 0 ||
      length - offsetof(sockaddr_un, sun_path) > sizeof mine_.bell) {
    close(fd);
    return false;
  }
  mine_.bell_length = static_cast<uint32_t>(length - offsetof(sockaddr_un, sun_path));
  std::memcpy(mine_.bell, name.sun_path, mine_.bell_length);
  socket_ = fd;
  return true;
}

bool Doorbell::arm(bool by_flags) {
  if (socket_ < 0 && !open()) return false;
  const uint32_t wanted = by_flags ? Desk::for_flags : Desk::for_records;
  const uint32_t before = mine_.asleep.load(std::memory_order_acquire);
  if (before == Desk::awake && armed_) ++rings_;
  char rung;
  while (rings_ > 0 && recv(socket_, &rung, 1, MSG_DONTWAIT) > 0) --rings_;
  if (!std::exchange(fence_due_, false) && before == wanted) return true;  // armed all along
  count(by_flags);
  if (mine_.asleep.exchange(wanted, std::memory_order_acq_rel) != before) ++rings_;  // just now
  armed_ = true;
  __sync_synchronize();
  membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);  // where it fails nobody has registered either
  return true;
}

void Doorbell::ring(Desk& desk) {
  if (desk.asleep.exchange(0, std::memory_order_acquire) == 0) return;  // another one rings
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, desk.bell, desk.bell_length);
  const char rung = 1;
  // A socket that is full has been rung; one that is gone belongs to a rank that has left.
  [[maybe_unused]] const ssize_t n =
      sendto(ringing_socket(), &rung, 1, MSG_DONTWAIT | MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&name),
             static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + desk.bell_length));
}

}  // namespace tutti::transport
