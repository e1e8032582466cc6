// SPDX-License-Identifier: BSD-3-Clause
// Memory that some processes of a node share: a file in /dev/shm, mapped by each. One makes it, the
// others open it by its name, which is removed when all have; the launcher removes it if they
// cannot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"

namespace tutti::transport {

class SharedFile {
 public:
  // `name`: unique on the node. `bytes`: more than 0; they are known to be there. Reads as zeros.
  static Result<std::unique_ptr<SharedFile>> make(const std::string& name, int64_t bytes);
  static Result<std::unique_ptr<SharedFile>> open(const std::string& name, int64_t bytes);
  ~SharedFile();
  SharedFile(const SharedFile&) = delete;

  std::byte* base() const { return base_; }
  // Nobody will open it any more.
  static void forget_name(const std::string& name);

 private:
  SharedFile(std::byte* base, size_t bytes) : base_(base), bytes_(bytes) {}
  static Result<std::unique_ptr<SharedFile>> map(const std::string& path, int descriptor,
                                                 int64_t bytes);
  std::byte* const base_;
  const size_t bytes_;
};

}  // namespace tutti::transport
