// SPDX-License-Identifier: BSD-3-Clause
// Info objects (the standard, chapter 10): strings by name, in the order of their setting. They are
// there before MPI_Init and after MPI_Finalize, and any thread may use them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "mpi/object/objects.hpp"

namespace tutti::mpi {

class Info final : public Object {
 public:
  using Entry = std::pair<std::string, std::string>;

  Info() : Object(Tag::info), handle(handle_of(*this)) {}
  explicit Info(std::vector<Entry> entries)
      : Object(Tag::info), handle(handle_of(*this)), entries_(std::move(entries)) {}

  void set(std::string_view key, std::string_view value);
  std::optional<std::string> get(std::string_view key) const;
  bool remove(std::string_view key);  // false: there was none
  std::vector<Entry> entries() const;

  bool predefined = false;  // MPI_INFO_ENV: a program cannot change it
  MPI_Info handle;          // the ABI's number, or this object's address

 private:
  mutable Mutex mutex_;
  std::vector<Entry> entries_ TUTTI_GUARDED_BY(mutex_);
};

// Of memory that MPI makes: a cache line, or what the hint mpi_minimum_memory_alignment asks for (9.2); a power of two.
size_t alignment_of(const Info* info);

// MPI_INFO_ENV (11.2.1). Knows at once what a process knows by itself: command, argv, wdir, host,
// arch. The rest (maxprocs, thread_level, …) is added by MPI_Init.
Info& info_env();

}  // namespace tutti::mpi
