// SPDX-License-Identifier: BSD-3-Clause
// The movers: what copies, packs, unpacks and reduces the bytes of payloads, here and nowhere else but in the files that
// tests/unit/movers.py lists. Owns how bytes are moved; where they lie is the layout's business (base/layout.hpp), what
// a reduction computes the kernels' (kernels.hpp), and which way a copy into shared memory goes SharedCopy's
// (shared_copy.hpp).
//
// All of them do nothing where there is nothing to move, whatever the addresses are then: a program may pass NULL with
// a count of 0. None knows of other threads. What overlaps is refused by the standard, and is the caller's to keep
// away, with one exception: source and destination may be the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/layout.hpp"
#include "base/reduction.hpp"

namespace tutti::memory {

// A run of bytes.
inline void copy(void* to, const void* from, int64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, static_cast<size_t>(bytes));
}

// Up to 16 bytes without a call, as most short messages are.
inline void copy_short(std::byte* to, const std::byte* from, size_t bytes) {
  if (bytes == 8) {
    std::memcpy(to, from, 8);
  } else if (bytes > 16) {
    std::memcpy(to, from, bytes);
  } else if (bytes >= 8) {
    std::memcpy(to, from, 8);
    std::memcpy(to + bytes - 8, from + bytes - 8, 8);
  } else {
    for (size_t i = 0; i < bytes; ++i) to[i] = from[i];
  }
}

// Packed bytes [offset, offset + length) of a payload, as far as it has them, into `out` and from `in`.
void pack(const Payload& from, int64_t offset, void* out, int64_t length);
void unpack(const Payload& into, int64_t offset, const void* in, int64_t length);

// The data of `from` into `to`: as many bytes as the shorter of both holds. Either may have gaps; no temporary of the
// whole is made.
void copy(const Payload& from, const Payload& to);
// Packed bytes [offset, offset + length) of it, as far as both have them.
void copy(const Payload& from, const Payload& to, int64_t offset, int64_t length);

// into[i] = left[i] op right[i], for so many elements, which lie as their datatype says (Reduction::apply).
inline void reduce(const Reduction& reduction, const void* left, const void* right, void* into, int64_t count) {
  if (count > 0) reduction.apply(reduction, left, right, into, count);
}

}  // namespace tutti::memory
