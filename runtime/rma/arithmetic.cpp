// SPDX-License-Identifier: BSD-3-Clause
#include "rma/arithmetic.hpp"

#include <algorithm>
#include <cstring>

#include "memory/movers.hpp"
#include "rma/operation.hpp"

namespace tutti::rma {
namespace {

constexpr int64_t kChunk = 4096;  // packed bytes at a time

// C may put gaps between and inside of elements, at most as many bytes as there are data.
struct alignas(64) Chunk {
  std::byte bytes[2 * kChunk];
};

// As the processor wants elements of this size: to the largest power of two in it, and to 16 at most.
bool is_aligned(const void* address, int64_t size) {
  const auto wanted = static_cast<uint64_t>(std::min<int64_t>(size & -size, 16));
  return (reinterpret_cast<uintptr_t>(address) & (wanted - 1)) == 0;
}

// Elements without gaps, where they are or in a copy.
void fold_dense(const Arithmetic& arithmetic, Update update, const Payload& target, int64_t offset,
                const std::byte* data, int64_t bytes, int64_t size) {
  Chunk in, inout;
  const int64_t step = std::max<int64_t>(kChunk / size, 1) * size;
  const bool in_place = target.contiguous() && is_aligned(target.data() + offset, size);
  if (in_place && is_aligned(data, size))
    return arithmetic.apply(update.operation, update.element, data, target.data() + offset, bytes / size);
  for (int64_t done = 0; done < bytes; done += step) {
    const int64_t now = std::min(step, bytes - done);
    memory::copy(in.bytes, data + done, now);
    if (in_place) {
      arithmetic.apply(update.operation, update.element, in.bytes, target.data() + offset + done, now / size);
      continue;
    }
    memory::pack(target, offset + done, inout.bytes, now);
    arithmetic.apply(update.operation, update.element, in.bytes, inout.bytes, now / size);
    memory::unpack(target, offset + done, inout.bytes, now);
  }
}

void fold_with_gaps(const Arithmetic& arithmetic, Update update, const Payload& target, int64_t offset,
                    const std::byte* data, int64_t bytes, const Layout& element) {
  Chunk in{}, inout{}, packed;
  const int64_t step = kChunk / std::max(element.size(), element.extent()) * element.size();
  for (int64_t done = 0; done < bytes; done += step) {
    const int64_t now = std::min(step, bytes - done), count = now / element.size();
    memory::unpack({in.bytes, count, &element}, 0, data + done, now);
    memory::pack(target, offset + done, packed.bytes, now);
    memory::unpack({inout.bytes, count, &element}, 0, packed.bytes, now);
    arithmetic.apply(update.operation, update.element, in.bytes, inout.bytes, count);
    memory::pack({inout.bytes, count, &element}, 0, packed.bytes, now);
    memory::unpack(target, offset + done, packed.bytes, now);
  }
}

void fold(const Arithmetic& arithmetic, Update update, const Payload& target, int64_t offset, const std::byte* data,
          int64_t bytes) {
  if (update.operation == kNoOp) return;
  if (update.operation == kReplace) return memory::unpack(target, offset, data, bytes);
  const Layout& element = arithmetic.layout(update.element);
  if (element.is_dense()) return fold_dense(arithmetic, update, target, offset, data, bytes, element.size());
  fold_with_gaps(arithmetic, update, target, offset, data, bytes, element);
}

void compare_and_swap(const Payload& target, int64_t offset, const std::byte* data, int64_t bytes,
                      const std::byte* old) {
  if (std::memcmp(old, data, static_cast<size_t>(bytes)) == 0) memory::unpack(target, offset, data + bytes, bytes);
}

// Nobody else changes these bytes meanwhile.
void carry_out_alone(const Arithmetic& arithmetic, Update update, const Payload& target, int64_t offset,
                     const std::byte* data, int64_t bytes, std::byte* old) {
  if (old) memory::pack(target, offset, old, bytes);
  if (update.operation == kCompareAndSwap) return compare_and_swap(target, offset, data, bytes, old);
  fold(arithmetic, update, target, offset, data, bytes);
}

// The same in one run, where most are a single element.
void carry_out_dense(const Arithmetic& arithmetic, Update update, std::byte* target, const std::byte* data,
                     int64_t bytes, std::byte* old, int64_t size) {
  const auto length = static_cast<size_t>(bytes);
  if (old) memory::copy_short(old, target, length);
  switch (update.operation) {
    case kNoOp:
      return;
    case kReplace:
      return memory::copy_short(target, data, length);
    case kCompareAndSwap:
      if (std::memcmp(old, data, length) == 0) memory::copy_short(target, data + length, length);
      return;
    default:
      break;
  }
  if (is_aligned(target, size) && is_aligned(data, size) && arithmetic.layout(update.element).is_dense()) [[likely]]
    return arithmetic.apply(update.operation, update.element, data, target, bytes == size ? 1 : bytes / size);
  fold(arithmetic, update, {target, bytes, &Layout::bytes()}, 0, data, bytes);
}

// One run: a stripe at a time, and with it the next one where its last element reaches over.
void carry_out_run(const Arithmetic& arithmetic, Update update, std::byte* target, const std::byte* data, int64_t bytes,
                   std::byte* old, const Guard& guard) {
  const int64_t size = update.operation == kCompareAndSwap ? bytes : arithmetic.layout(update.element).size();
  for (int64_t done = 0; done < bytes;) {
    const int64_t at = target + done - guard.base;
    const int64_t room = Stripes::kBytes - at % Stripes::kBytes;
    const int64_t left = bytes - done;
    const int64_t now = left <= room ? left : std::min((room + size - 1) / size * size, left);
    const uint32_t stripes = Stripes::of(at, at + now);
    guard.stripes->hold(stripes);
    carry_out_dense(arithmetic, update, target + done, data ? data + done : nullptr, now, old ? old + done : nullptr,
                    size);
    guard.stripes->release(stripes);
    done += now;
  }
}

}  // namespace

void carry_out(const Arithmetic& arithmetic, Update update, const Payload& target, int64_t offset,
               const std::byte* data, int64_t bytes, std::byte* old, const Guard& guard) {
  if (!guard.stripes) return carry_out_alone(arithmetic, update, target, offset, data, bytes, old);
  if (bytes == 0) return;
  if (target.contiguous()) return carry_out_run(arithmetic, update, target.data() + offset, data, bytes, old, guard);
  // With gaps: in pieces, each under all stripes that the whole has bytes in.
  const Reach reach = reach_of(target.count, *target.layout);
  const int64_t base = static_cast<const std::byte*>(target.base) - guard.base;
  const uint32_t stripes = Stripes::of(base + static_cast<int64_t>(reach.low), base + static_cast<int64_t>(reach.high));
  const int64_t size = update.operation == kCompareAndSwap ? bytes : arithmetic.layout(update.element).size();
  const int64_t piece = std::max<int64_t>(kChunk / size, 1) * size;
  for (int64_t done = 0; done < bytes; done += piece) {
    const int64_t now = std::min(piece, bytes - done);
    guard.stripes->hold(stripes);
    carry_out_alone(arithmetic, update, target, offset + done, data ? data + done : nullptr, now,
                    old ? old + done : nullptr);
    guard.stripes->release(stripes);
  }
}

}  // namespace tutti::rma
