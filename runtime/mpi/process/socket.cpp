// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/process/socket.hpp"

#include <mpi-ext.h>
#include <mpi.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tutti::mpi::processes {

int milliseconds_until(Deadline deadline) {
  if (!deadline) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 1 << 30));
}

Socket::~Socket() {
  if (fd_ >= 0) ::close(fd_);
}

Error Socket::ready(short what, Deadline deadline) {
  for (;;) {
    pollfd both[] = {{fd_, what, 0}, {gives_up_, POLLIN, 0}};
    const int n = ::poll(both, 2, milliseconds_until(deadline));
    if (n > 0 && both[0].revents) return {};
    if (n > 0) return failure(MPIX_ERR_PROC_FAILED, "a rank of the communicator has failed");
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failure(MPI_ERR_PORT, "cannot wait for a socket: {}", std::strerror(errno));
    return failure(MPI_ERR_PORT, "the other side says nothing");
  }
}

Error Socket::send(std::string_view message, Deadline deadline) {
  const uint64_t length = message.size();
  std::string whole(reinterpret_cast<const char*>(&length), sizeof length);
  whole += message;
  for (size_t done = 0; done < whole.size();) {
    const ssize_t n = ::send(fd_, whole.data() + done, whole.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      done += static_cast<size_t>(n);
    } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (Error e = ready(POLLOUT, deadline)) return e;
    } else if (n == 0 || errno != EINTR) {
      return failure(MPI_ERR_PORT, "the other side is gone ({})", std::strerror(errno));
    }
  }
  return {};
}

Error Socket::take(void* into, size_t bytes, Deadline deadline) {
  for (size_t done = 0; done < bytes;) {
    if (Error e = ready(POLLIN, deadline)) return e;
    const ssize_t n = ::recv(fd_, static_cast<char*>(into) + done, bytes - done, MSG_DONTWAIT);
    if (n > 0)
      done += static_cast<size_t>(n);
    else if (n == 0)
      return failure(MPI_ERR_PORT, "the other side has closed the connection");
    else if (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)
      return failure(MPI_ERR_PORT, "the other side is gone ({})", std::strerror(errno));
  }
  return {};
}

Result<std::string> Socket::receive(size_t longest, Deadline deadline) {
  uint64_t length = 0;
  if (Error e = take(&length, sizeof length, deadline)) return e;
  if (length > longest) return failure(MPI_ERR_PORT, "the other side speaks another language than Tutti");
  // In pieces, as they come: a length alone is no reason to take so much memory.
  std::string message;
  while (message.size() < length) {
    const size_t done = message.size(), more = std::min<size_t>(length - done, 1 << 20);
    message.resize(done + more);
    if (Error e = take(message.data() + done, more, deadline)) return e;
  }
  return message;
}

}  // namespace tutti::mpi::processes
