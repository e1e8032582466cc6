// SPDX-License-Identifier: BSD-3-Clause
// Memory that some processes of a node share: a file that each of them maps. One makes it and says in a word where it
// is, the others open it by that. By which ways they come to one file differs where they are in containers.
//
// A name goes when all have the file; if they cannot, the launcher removes it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"

namespace tutti::transport {

// The best first. By name in /dev/shm; without a name, as an open file of the process that has made it; by name in the
// job's folder, or where that is not to be seen in TMPDIR.
enum class SharedWay : int32_t { dev_shm, process, folder };
inline constexpr int kSharedWays = 3;

// Equal for two processes of a machine that come to the same files by this way; all 0: this process has no such way.
std::array<uint64_t, 2> place_of(SharedWay way);

class SharedFile {
 public:
  // `name`: unique on the node. `bytes`: more than 0, of which the first `taken` are known to be there; the others must
  // not be touched before somebody takes them. Reads as zeros.
  static Result<std::unique_ptr<SharedFile>> make(SharedWay way, const std::string& name, int64_t bytes, int64_t taken);
  static Result<std::unique_ptr<SharedFile>> make(SharedWay way, const std::string& name, int64_t bytes) {
    return make(way, name, bytes, bytes);
  }
  static Result<std::unique_ptr<SharedFile>> open(const std::string& word, int64_t bytes);
  ~SharedFile();
  SharedFile(const SharedFile&) = delete;

  std::byte* base() const { return base_; }
  const std::string& word() const { return word_; }  // of whoever has made it
  // Has these bytes be there, near the processor that this thread runs on. Before forget_name().
  Error take(int64_t offset, int64_t bytes);
  // Nobody will open it any more, or take any of it.
  void forget_name();

 private:
  SharedFile(std::string place, int descriptor, std::byte* base, size_t bytes)
      : place_(std::move(place)), descriptor_(descriptor), base_(base), bytes_(bytes) {}
  static Result<std::unique_ptr<SharedFile>> make_named(SharedWay way, const std::string& name, int64_t bytes,
                                                        int64_t taken);
  static Result<std::unique_ptr<SharedFile>> make_nameless(int64_t bytes, int64_t taken);
  static Result<std::unique_ptr<SharedFile>> open_named(const std::string& path, int64_t bytes);
  static Result<std::unique_ptr<SharedFile>> open_nameless(const std::string& text, int64_t bytes);
  static Result<std::unique_ptr<SharedFile>> map(const std::string& what, const std::string& place, int descriptor,
                                                 int64_t bytes);
  std::string word_, path_;  // the path: while others may open it
  std::string place_;        // what has too little room, if it has
  int descriptor_;           // until forget_name()
  std::byte* const base_;
  const size_t bytes_;
};

}  // namespace tutti::transport
