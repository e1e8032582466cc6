// SPDX-License-Identifier: BSD-3-Clause
// Memory that the processes of a node share outside of /dev/shm, for when that fills up: a file
// without a name, which one of them makes and the others find as an open file of that one. Owns the
// file and where it is mapped; takes no memory for it before it is told to. Gone with the last process
// that holds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tutti::transport {

class SpareMemory {
 public:
  // What others need to find it, and to know that they have: process and descriptor, device and file.
  struct Place {
    int32_t pid, descriptor;
    uint64_t device, file;
  };

  // Both: nullptr where the kernel, or what keeps processes apart, does not allow it. open() only
  // while its maker has it.
  static std::unique_ptr<SpareMemory> make(size_t bytes);
  static std::unique_ptr<SpareMemory> open(const Place& place, size_t bytes);
  ~SpareMemory();
  SpareMemory(const SpareMemory&) = delete;

  Place place() const;
  std::byte* base() const { return base_; }
  int descriptor() const { return descriptor_; }

 private:
  SpareMemory(int descriptor, std::byte* base, size_t bytes)
      : descriptor_(descriptor), base_(base), bytes_(bytes) {}
  static std::unique_ptr<SpareMemory> map(int descriptor, size_t bytes);

  const int descriptor_;
  std::byte* const base_;
  const size_t bytes_;
};

}  // namespace tutti::transport
