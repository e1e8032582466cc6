// SPDX-License-Identifier: BSD-3-Clause
// A file in memory that does what files may do and seldom do: it moves less than it was asked for,
// is interrupted, is slow, runs full, or fails at a certain call. For tests.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "base/mutex.hpp"
#include "io/storage.hpp"

namespace tutti::io {

class Faulty final : public Storage {
 public:
  struct Faults {
    unsigned seed = 1;
    int64_t most_at_once = INT64_MAX;  // bytes; a random number up to it is moved
    int interrupted_of = 0;            // one call of so many is; 0: none
    int fails_at = 0, error = 0;       // the so-manyth call, from 1 on
    int64_t room = INT64_MAX;          // bytes that the device takes
    int close_error = 0;
    std::chrono::microseconds each_takes{0};
  };
  explicit Faulty(Faults faults) : faults_(faults), chance_(faults.seed) {}

  Moved read(int64_t offset, void* into, int64_t bytes) override;
  Moved write(int64_t offset, const void* from, int64_t bytes) override;
  Moved read(int64_t offset, std::span<const iovec> into) override;
  Moved write(int64_t offset, std::span<const iovec> from) override;
  int size(int64_t& bytes) override;
  int resize(int64_t bytes) override;
  int reserve(int64_t bytes) override;
  int sync() override { return 0; }
  int close() override { return ++closes, faults_.close_error; }
  int lock(int64_t offset, int64_t bytes, bool shared) override;
  int unlock(int64_t offset, int64_t bytes) override;
  int64_t block_size() override { return 4096; }

  // For tests to look at when nobody calls.
  std::vector<std::byte> data TUTTI_GUARDED_BY(mutex_);
  int64_t reads TUTTI_GUARDED_BY(mutex_) = 0, writes TUTTI_GUARDED_BY(mutex_) = 0;  // with one piece of memory or many
  int64_t locks = 0, unlocks = 0, closes = 0;
  int64_t locked_at = -1, locked_bytes = 0;  // by the latest lock()

 private:
  int fault(int64_t& bytes) TUTTI_REQUIRES(mutex_);

  // How many bytes there are of those, or room for them.
  Moved there(int64_t offset, int64_t bytes) TUTTI_REQUIRES(mutex_);
  Moved room(int64_t offset, int64_t bytes) TUTTI_REQUIRES(mutex_);

  const Faults faults_;
  Mutex mutex_;
  std::minstd_rand chance_ TUTTI_GUARDED_BY(mutex_);
  int calls_ TUTTI_GUARDED_BY(mutex_) = 0;
};

}  // namespace tutti::io
