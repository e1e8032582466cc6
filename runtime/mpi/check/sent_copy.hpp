// SPDX-License-Identifier: BSD-3-Clause
// A copy of what a nonblocking send sends, under --check=strict. The message is sent from it, and when the program
// completes the send its buffer must hold the same still (the standard, 3.7.2). So a program that frees its buffer too
// early, or writes to it, hears of that, and does not end in the midst of a copy: as one in Fortran would that passes an
// expression, whose memory is gone when the call returns (19.1.12). Belongs to the send's request. Refuses to hold more
// than kMost bytes at once: what is beyond them is sent from its buffer, and nothing is compared.
#pragma once

#include <atomic>
#include <memory>

#include "base/layout.hpp"
#include "base/result.hpp"

namespace tutti::mpi {

class SentCopy {
 public:
  static constexpr int64_t kMost = 64 << 20;
  // nullptr: there is nothing to copy, or too much. The layout outlives it.
  // `held`: the bytes of all copies, which outlives them, too.
  static std::unique_ptr<SentCopy> of(const Payload& sent, std::atomic<int64_t>& held);
  ~SentCopy();
  SentCopy(const SentCopy&) = delete;

  Payload payload() const { return {bytes_.get(), size_, &Layout::bytes()}; }
  // What is wrong, found when it is asked for the first time: from then on the buffer is the program's again.
  Error judge();

 private:
  SentCopy(const Payload& sent, int64_t size, std::atomic<int64_t>& held);
  Error compare() const;

  const Payload sent_;
  const int64_t size_;
  std::atomic<int64_t>& held_;  // a sum, which orders nothing else
  std::unique_ptr<std::byte[]> bytes_;
  bool judged_ = false;
  Error found_;
};

}  // namespace tutti::mpi
