// SPDX-License-Identifier: BSD-3-Clause
// Copies into memory that another process reads. Where the two are near each other an ordinary copy
// is best: the reader finds the bytes in a cache. Where they are far apart (two sockets, two dies)
// each line has to be asked back from its last reader, and stores that pass by the caches are
// several times faster. Which of the two it is, and processes may be moved, is found out on the
// way: by the time that copies take. So it is with copies of what others have put there into memory
// of one's own, when all that the ranks get is more than their caches hold.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::memory {

// Used by one thread at a time.
class SharedCopy {
 public:
  // Goes over to streaming where an ordinary copy takes `worth_it` times as long.
  explicit SharedCopy(double worth_it = 2.5) : worth_it_(worth_it) {}

  // Shorter copies than this are ordinary ones.
  static constexpr size_t kLeast = 2 << 10;

  // What is stored afterwards is seen after it.
  void operator()(std::byte* to, const std::byte* from, size_t bytes);

 private:
  enum Way { plain, streaming };
  static constexpr unsigned kTryOther = 100;  // copies
  Way choose();

  double worth_it_;
  double cost_[2] = {0, 0};  // ticks a byte, of late; 0: not known
  unsigned copies_ = 0;
};

}  // namespace tutti::memory
