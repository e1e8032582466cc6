// SPDX-License-Identifier: BSD-3-Clause
// A file without a name, in memory: one process makes it, and others find it as an open file of
// that one, while it has it. Gone with the last process that holds it, so that nothing stays
// however they end. Refuses to know what is in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace tutti::transport {

// What others need to find a file, and to know that they have: process and descriptor, device and
// file. Plain, for shared memory.
struct PlaceOfFile {
  int32_t pid, descriptor;
  uint64_t device, file;

  std::string text() const;
  static std::optional<PlaceOfFile> parse(const std::string& text);
};

// All return a descriptor, the caller's, or -1 where the kernel, or what keeps processes apart,
// does not allow it. The file takes no memory before it is told to.
int make_nameless_file(size_t bytes);
int open_nameless_file(const PlaceOfFile& place, size_t bytes);
PlaceOfFile place_of_file(int descriptor);

}  // namespace tutti::transport
