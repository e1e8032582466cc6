// SPDX-License-Identifier: BSD-3-Clause
#include "memory/shared_copy.hpp"

#include <algorithm>
#include <cstring>

#include "base/cpu.hpp"

namespace tutti::memory {
namespace {

using cpu::kLine;

void stream(std::byte* to, const std::byte* from, size_t bytes) {
  const size_t head = std::min(bytes, -reinterpret_cast<uintptr_t>(to) % kLine);
  std::memcpy(to, from, head);
  const size_t lines = (bytes - head) / kLine, tail = head + lines * kLine;
  std::memcpy(to + tail, from + tail, bytes - tail);
  cpu::copy_lines_past_caches(to + head, from + head, lines);
}

}  // namespace

SharedCopy::Way SharedCopy::choose() {
  const Way best = cost_[plain] > worth_it_ * cost_[streaming] ? streaming : plain;
  if (++copies_ % kTryOther != 0) return best;
  return best == plain ? streaming : plain;
}

void SharedCopy::operator()(std::byte* to, const std::byte* from, size_t bytes) {
  if (bytes < kLeast) {
    std::memcpy(to, from, bytes);
    return;
  }
  const Way way = choose();
  const uint64_t begin = cpu::ticks();
  way == plain ? static_cast<void>(std::memcpy(to, from, bytes)) : stream(to, from, bytes);
  const double cost = static_cast<double>(cpu::ticks() - begin) / static_cast<double>(bytes);
  // Of a copy in which something else ran, no more than that it was slow.
  double& known = cost_[way];
  known = known == 0 ? cost : known + (std::min(cost, 8 * known) - known) / 4;
}

}  // namespace tutti::memory
