// SPDX-License-Identifier: BSD-3-Clause
// Memory that the processes of a node share outside of /dev/shm, for when that fills up: a file
// without a name (nameless_file.hpp), mapped. Owns the file and where it is mapped; takes no memory
// for it before it is told to.
#pragma once

#include <cstddef>
#include <memory>

#include "transport/shared/nameless_file.hpp"

namespace tutti::transport {

class SpareMemory {
 public:
  // Both: nullptr where the kernel, or what keeps processes apart, does not allow it. open() only
  // while its maker has it.
  static std::unique_ptr<SpareMemory> make(size_t bytes) { return map(make_nameless_file(bytes), bytes); }
  static std::unique_ptr<SpareMemory> open(const PlaceOfFile& place, size_t bytes) {
    return map(open_nameless_file(place, bytes), bytes);
  }
  ~SpareMemory();
  SpareMemory(const SpareMemory&) = delete;

  PlaceOfFile place() const { return place_of_file(descriptor_); }
  std::byte* base() const { return base_; }
  int descriptor() const { return descriptor_; }

 private:
  SpareMemory(int descriptor, std::byte* base, size_t bytes) : descriptor_(descriptor), base_(base), bytes_(bytes) {}
  static std::unique_ptr<SpareMemory> map(int descriptor, size_t bytes);

  const int descriptor_;
  std::byte* const base_;
  const size_t bytes_;
};

}  // namespace tutti::transport
