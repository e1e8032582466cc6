// SPDX-License-Identifier: BSD-3-Clause
#include "memory/movers.hpp"

#include <algorithm>

namespace tutti::memory {
namespace {

constexpr int64_t kBounce = 8192;  // packed bytes on their way from one layout with gaps to another one

}  // namespace

void pack(const Payload& from, int64_t offset, void* out, int64_t length) {
  if (!from.contiguous()) return from.layout->pack(from.base, from.count, offset, out, length);
  copy(out, from.data() + offset, std::min(length, from.bytes() - offset));
}

void unpack(const Payload& into, int64_t offset, const void* in, int64_t length) {
  if (!into.contiguous()) return into.layout->unpack(into.base, into.count, offset, in, length);
  copy(into.data() + offset, in, std::min(length, into.bytes() - offset));
}

void copy(const Payload& from, const Payload& to) {
  copy(from, to, 0, std::min(from.bytes(), to.bytes()));
}

void copy(const Payload& from, const Payload& to, int64_t offset, int64_t length) {
  length = std::min(length, std::min(from.bytes(), to.bytes()) - offset);
  if (length <= 0) return;
  if (from.contiguous()) return unpack(to, offset, from.data() + offset, length);
  if (to.contiguous()) return pack(from, offset, to.data() + offset, length);
  std::byte bounce[kBounce];
  for (const int64_t end = offset + length; offset < end;) {
    const int64_t now = std::min(end - offset, kBounce);
    pack(from, offset, bounce, now);
    unpack(to, offset, bounce, now);
    offset += now;
  }
}

}  // namespace tutti::memory
