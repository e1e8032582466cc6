// SPDX-License-Identifier: BSD-3-Clause
// What the words of a ring's Joint say, by which both sides of a message agree on who copies which piece of it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tutti::transport {

// What Joint::taken says.
struct Share {
  uint16_t message = 0;
  uint32_t front = 0, back = 0;  // pieces; 24 bits each

  static Share of(uint64_t packed) {
    return {static_cast<uint16_t>(packed >> 48), static_cast<uint32_t>(packed >> 24) & 0xffffff,
            static_cast<uint32_t>(packed) & 0xffffff};
  }
  uint64_t packed() const { return uint64_t{message} << 48 | uint64_t{front} << 24 | uint64_t{back}; }
};
// And Joint::written.
struct Written {
  uint16_t message = 0;
  bool failed = false;  // the last one; there are no more
  uint32_t pieces = 0;

  static Written of(uint64_t packed) {
    return {static_cast<uint16_t>(packed >> 48), (packed >> 32 & 1) != 0, static_cast<uint32_t>(packed)};
  }
  uint64_t packed() const { return uint64_t{message} << 48 | uint64_t{failed} << 32 | uint64_t{pieces}; }
};

// How a message is cut. Pieces begin on cache lines of the message.
struct JointCut {
  int64_t bytes, piece;
  uint32_t count() const { return static_cast<uint32_t>((bytes + piece - 1) / piece); }
  int64_t begin(uint32_t i) const { return i * piece; }
  int64_t size(uint32_t i) const { return std::min(piece, bytes - begin(i)); }
};

}  // namespace tutti::transport
