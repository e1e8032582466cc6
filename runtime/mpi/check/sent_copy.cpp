// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/check/sent_copy.hpp"

#include <mpi.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace tutti::mpi {
namespace {

std::atomic<int64_t> held = 0;  // bytes of all copies; a sum, which orders nothing else

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

// Whether this memory holds the same: it may be gone, which the kernel says and nobody else.
Error compare_run(uintptr_t at, int64_t length, const std::byte* expected, int64_t before) {
  constexpr int64_t kPiece = 16 << 10;
  std::byte piece[kPiece];
  for (int64_t done = 0; done < length;) {
    const auto bytes = static_cast<size_t>(std::min(kPiece, length - done));
    const iovec here{piece, bytes}, there{reinterpret_cast<void*>(at + static_cast<uintptr_t>(done)), bytes};
    const ssize_t got = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
    if (got < 0 && errno != EFAULT) return {};  // it may not be asked
    if (got != static_cast<ssize_t>(bytes)) return freed();
    if (std::memcmp(piece, expected + done, bytes) != 0)
      return written(before + done + (std::mismatch(piece, piece + bytes, expected + done).first - piece));
    done += static_cast<int64_t>(bytes);
  }
  return {};
}

}  // namespace

std::unique_ptr<SentCopy> SentCopy::of(const Payload& sent) {
  const int64_t size = sent.bytes();
  if (size <= 0) return nullptr;
  if (held.fetch_add(size, std::memory_order_relaxed) + size > kMost) {
    held.fetch_sub(size, std::memory_order_relaxed);
    return nullptr;
  }
  return std::unique_ptr<SentCopy>(new SentCopy(sent, size));
}

SentCopy::SentCopy(const Payload& sent, int64_t size)
    : sent_(sent), size_(size), bytes_(new std::byte[static_cast<size_t>(size)]) {
  sent_.pack(0, bytes_.get(), size_);
}

SentCopy::~SentCopy() {
  held.fetch_sub(size_, std::memory_order_relaxed);
}

Error SentCopy::judge() {
  if (!judged_) found_ = compare();
  judged_ = true;
  return found_ ? Error(found_.mpi_class(), found_.message()) : Error();
}

Error SentCopy::compare() const {
  Error error;
  int64_t before = 0;
  sent_.layout->each_run(0, size_, [&](int64_t at, int64_t length) {
    error = compare_run(reinterpret_cast<uintptr_t>(sent_.base) + static_cast<uintptr_t>(at), length,
                        bytes_.get() + before, before);
    before += length;
    return !error;
  });
  return error;
}

}  // namespace tutti::mpi
