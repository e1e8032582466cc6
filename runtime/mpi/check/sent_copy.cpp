// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/check/sent_copy.hpp"

#include <mpi.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

#include "memory/movers.hpp"

namespace tutti::mpi {
namespace {

Error freed(const SentWords& words) {
  return failure(MPI_ERR_BUFFER,
                 "{} was freed before the {} was complete. An expression of Fortran, or a part of an "
                 "array that the compiler copies, is gone when the call returns: pass a variable",
                 words.buffer, words.operation);
}

Error written(const SentWords& words, int64_t byte) {
  return failure(MPI_ERR_BUFFER,
                 "byte {} of {} was written to before the {} was complete (the standard, section "
                 "{}). An expression of Fortran, or a part of an array that the compiler copies, is gone when the "
                 "call returns: pass a variable",
                 byte, words.buffer, words.operation, words.section);
}

constexpr size_t kPage = 4096, kMostRead = 4 * kPage;

// Compares memory that may be gone with the copy. The kernel is asked for a window of memory, in which there may be many
// short runs: to the end of a page, or as long as the run.
class Comparison {
 public:
  Comparison(const std::byte* expected, const SentWords& words) : expected_(expected), words_(words) {}

  // The next run in type-map order. False: nothing more need be looked at.
  bool add(uintptr_t at, int64_t length) {
    for (auto left = static_cast<size_t>(length); left > 0;) {
      if ((at < begin_ || at >= end_) && !read(at, left)) return false;
      const size_t part = std::min(left, end_ - at);
      const std::byte* const here = window_ + (at - begin_);
      const auto equal = static_cast<size_t>(std::mismatch(here, here + part, expected_ + done_).first - here);
      if (equal < part) {
        error_ = written(words_, static_cast<int64_t>(done_ + equal));
        return false;
      }
      at += part, left -= part, done_ += part;
    }
    return true;
  }
  Error end() { return std::move(error_); }

 private:
  bool read(uintptr_t at, size_t wanted) {
    const size_t length = std::min(std::max(wanted, kPage - at % kPage), kMostRead);
    const ssize_t got = read_what_is_there(at, window_, length);
    if (got == 0 || (got < 0 && errno == EFAULT)) error_ = freed(words_);
    if (got <= 0) return false;  // or it may not be asked
    begin_ = at, end_ = at + static_cast<uintptr_t>(got);
    return true;
  }

  const std::byte* const expected_;
  const SentWords& words_;
  size_t done_ = 0;                // bytes of the copy
  uintptr_t begin_ = 0, end_ = 0;  // of the window
  Error error_;
  std::byte window_[kMostRead];
};

}  // namespace

ssize_t read_what_is_there(uintptr_t at, void* to, size_t length) {
  auto* const bytes = static_cast<std::byte*>(to);
  for (size_t done = 0; done < length;) {
    const size_t part = std::min(length - done, kMostRead);
    iovec pages[kMostRead / kPage + 1];  // each is read as a whole or not at all
    size_t count = 0;
    for (size_t in_part = 0; in_part < part; ++count) {
      const uintptr_t from = at + done + in_part;
      pages[count] = {reinterpret_cast<void*>(from), std::min(part - in_part, kPage - from % kPage)};
      in_part += pages[count].iov_len;
    }
    const iovec here{bytes + done, part};
    const ssize_t got = process_vm_readv(getpid(), &here, 1, pages, count, 0);
    if (got <= 0) return done > 0 ? static_cast<ssize_t>(done) : got;
    done += static_cast<size_t>(got);
    if (static_cast<size_t>(got) < part) return static_cast<ssize_t>(done);
  }
  return static_cast<ssize_t>(length);
}

std::unique_ptr<SentCopy> SentCopy::of(const Payload& sent, std::atomic<int64_t>& held, SentWords words) {
  const int64_t size = sent.bytes();
  if (size <= 0) return nullptr;
  if (held.fetch_add(size, std::memory_order_relaxed) + size > kMost) {
    held.fetch_sub(size, std::memory_order_relaxed);
    return nullptr;
  }
  return std::unique_ptr<SentCopy>(new SentCopy(sent, size, held, std::move(words)));
}

SentCopy::SentCopy(const Payload& sent, int64_t size, std::atomic<int64_t>& held, SentWords words)
    : layout_(*sent.layout),
      sent_{sent.base, sent.count, &layout_},
      size_(size),
      held_(held),
      words_(std::move(words)),
      bytes_(new std::byte[static_cast<size_t>(size)]) {
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
  Comparison comparison(bytes_.get(), words_);
  sent_.layout->each_run(0, size_, [&](int64_t at, int64_t length) {
    return comparison.add(reinterpret_cast<uintptr_t>(sent_.base) + static_cast<uintptr_t>(at), length);
  });
  return comparison.end();
}

}  // namespace tutti::mpi
