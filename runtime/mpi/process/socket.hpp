// SPDX-License-Identifier: BSD-3-Clause
// A stream socket on which two processes of a user's exchange whole messages while they connect. Calls block, the
// longest until the deadline: they are made beside the engine (beside.hpp). Owns the descriptor.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"

namespace tutti::mpi::processes {

using Deadline = std::optional<std::chrono::steady_clock::time_point>;  // nullopt: never
inline Deadline in_seconds(int seconds) {
  return std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
}

class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)), gives_up_(std::exchange(other.gives_up_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(gives_up_, other.gives_up_);
    return *this;
  }
  ~Socket();

  int fd() const { return fd_; }
  int give_up() { return std::exchange(fd_, -1); }  // it is the caller's now
  explicit operator bool() const { return fd_ >= 0; }

  // From now on what waits for the other side ends with MPIX_ERR_PROC_FAILED when that descriptor is readable; -1: none.
  void give_up_with(int descriptor) { gives_up_ = descriptor; }

  // A message is its length and its bytes. Errors are of the class MPI_ERR_PORT.
  Error send(std::string_view message, Deadline deadline = std::nullopt);
  Result<std::string> receive(size_t longest, Deadline deadline = std::nullopt);

 private:
  Error ready(short what, Deadline deadline);
  Error take(void* into, size_t bytes, Deadline deadline);

  int fd_ = -1;
  int gives_up_ = -1;
};

// What is asked of poll(2): milliseconds, rounded up; -1 without a deadline.
int milliseconds_until(Deadline deadline);

}  // namespace tutti::mpi::processes
