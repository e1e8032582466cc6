// SPDX-License-Identifier: BSD-3-Clause
// A copy of what an operation under way reads, under --check=strict. When the program completes the operation its
// buffer must hold the same still (the standard, 3.7.2). A nonblocking send is sent from its copy: so a program that
// frees its buffer too early, or writes to it, hears of that, and does not end in the midst of a copy: as one in Fortran
// would that passes an expression, whose memory is gone when the call returns (19.1.12). Refuses to hold more than kMost
// bytes at once: of what is beyond them there is no copy, and nothing is compared.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <string>

#include "base/layout.hpp"
#include "base/result.hpp"

namespace tutti::mpi {

// Copies `length` bytes of this process that may be gone, which the kernel says and nobody else. How many there are up
// to the first page that is gone; negative: none, or the kernel may not be asked (errno).
ssize_t read_what_is_there(uintptr_t at, void* to, size_t length);

// What the sentence calls things: "byte 3 of the send buffer was written to before the send was complete".
struct SentWords {
  std::string buffer = "the send buffer";
  const char* operation = "send";
  const char* section = "3.7.2";
};

class SentCopy {
 public:
  static constexpr int64_t kMost = 64 << 20;
  // nullptr: there is nothing to copy, or too much.
  // `held`: the bytes of all copies, which outlives them, too.
  static std::unique_ptr<SentCopy> of(const Payload& sent, std::atomic<int64_t>& held, SentWords words = {});
  ~SentCopy();
  SentCopy(const SentCopy&) = delete;

  Payload payload() const { return {bytes_.get(), size_, &Layout::bytes()}; }
  // What is wrong, found when it is asked for the first time: from then on the buffer is the program's again.
  Error judge();

 private:
  SentCopy(const Payload& sent, int64_t size, std::atomic<int64_t>& held, SentWords words);
  Error compare() const;

  const Layout layout_;  // the datatype may be gone before it
  const Payload sent_;
  const int64_t size_;
  std::atomic<int64_t>& held_;  // a sum, which orders nothing else
  const SentWords words_;
  std::unique_ptr<std::byte[]> bytes_;
  bool judged_ = false;
  Error found_;
};

}  // namespace tutti::mpi
