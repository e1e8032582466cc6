// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/check/sent_copy.hpp"

#include <mpi.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "memory/movers.hpp"

namespace tutti::mpi {
namespace {

Error freed() {
  return failure(MPI_ERR_BUFFER,
                 "the send buffer was freed before the send was complete. An expression of Fortran, or a part of an "
                 "array that the compiler copies, is gone when the call returns: send a variable");
}

Error written(int64_t byte) {
  return failure(MPI_ERR_BUFFER,
                 "byte {} of the send buffer was written to before the send was complete (the standard, section "
                 "3.7.2). An expression of Fortran, or a part of an array that the compiler copies, is gone when the "
                 "call returns: send a variable",
                 byte);
}

// Compares memory that may be gone with the copy, which the kernel says and nobody else. It is asked for a window of
// memory, in which there may be many short runs: to the end of a page, or as long as the run.
class Comparison {
 public:
  explicit Comparison(const std::byte* expected) : expected_(expected) {}

  // The next run in type-map order. False: nothing more need be looked at.
  bool add(uintptr_t at, int64_t length) {
    for (auto left = static_cast<size_t>(length); left > 0;) {
      if ((at < begin_ || at >= end_) && !read(at, left)) return false;
      const size_t part = std::min(left, end_ - at);
      const std::byte* const here = window_ + (at - begin_);
      const auto equal = static_cast<size_t>(std::mismatch(here, here + part, expected_ + done_).first - here);
      if (equal < part) {
        error_ = written(static_cast<int64_t>(done_ + equal));
        return false;
      }
      at += part, left -= part, done_ += part;
    }
    return true;
  }
  Error end() { return std::move(error_); }

 private:
  static constexpr size_t kPage = 4096, kMost = 4 * kPage;

  bool read(uintptr_t at, size_t wanted) {
    const size_t length = std::min(std::max(wanted, kPage - at % kPage), kMost);
    iovec pages[kMost / kPage + 1];  // each is read as a whole or not at all
    size_t count = 0;
    for (size_t done = 0; done < length; ++count) {
      pages[count] = {reinterpret_cast<void*>(at + done), std::min(length - done, kPage - (at + done) % kPage)};
      done += pages[count].iov_len;
    }
    const iovec here{window_, length};
    const ssize_t got = process_vm_readv(getpid(), &here, 1, pages, count, 0);
    if (got == 0 || (got < 0 && errno == EFAULT)) error_ = freed();
    if (got <= 0) return false;  // or it may not be asked
    begin_ = at, end_ = at + static_cast<uintptr_t>(got);
    return true;
  }

  const std::byte* const expected_;
  size_t done_ = 0;                // bytes of the copy
  uintptr_t begin_ = 0, end_ = 0;  // of the window
  Error error_;
  std::byte window_[kMost];
};

}  // namespace

std::unique_ptr<SentCopy> SentCopy::of(const Payload& sent, std::atomic<int64_t>& held) {
  const int64_t size = sent.bytes();
  if (size <= 0) return nullptr;
  if (held.fetch_add(size, std::memory_order_relaxed) + size > kMost) {
    held.fetch_sub(size, std::memory_order_relaxed);
    return nullptr;
  }
  return std::unique_ptr<SentCopy>(new SentCopy(sent, size, held));
}

SentCopy::SentCopy(const Payload& sent, int64_t size, std::atomic<int64_t>& held)
    : sent_(sent), size_(size), held_(held), bytes_(new std::byte[static_cast<size_t>(size)]) {
  memory::pack(sent_, 0, bytes_.get(), size_);
}

SentCopy::~SentCopy() {
  held_.fetch_sub(size_, std::memory_order_relaxed);
}

Error SentCopy::judge() {
  if (!judged_) found_ = compare();
  judged_ = true;
  return found_ ? Error(found_.mpi_class(), found_.message()) : Error();
}

Error SentCopy::compare() const {
  Comparison comparison(bytes_.get());
  sent_.layout->each_run(0, size_, [&](int64_t at, int64_t length) {
    return comparison.add(reinterpret_cast<uintptr_t>(sent_.base) + static_cast<uintptr_t>(at), length);
  });
  return comparison.end();
}

}  // namespace tutti::mpi
