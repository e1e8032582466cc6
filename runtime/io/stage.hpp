// SPDX-License-Identifier: BSD-3-Clause
// Memory that is kept from one access to the next: what is new costs a fault for each page. Holds
// anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tutti::io {

class Stage {
 public:
  std::byte* of(int64_t bytes) {
    if (bytes > bytes_) {
      memory_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(bytes));
      bytes_ = bytes;
    }
    return memory_.get();
  }
  std::byte* data() const { return memory_.get(); }
  int64_t bytes() const { return bytes_; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  int64_t bytes_ = 0;
};

}  // namespace tutti::io
