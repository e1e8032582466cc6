// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shared_copy.hpp"

#include <emmintrin.h>
#include <x86intrin.h>

#include <algorithm>
#include <cstring>

namespace tutti::transport {
namespace {

constexpr size_t kLine = 64;

// Whole lines to where a line begins.
void stream_lines(std::byte* to, const std::byte* from, size_t lines) {
  for (; lines > 0; --lines, to += kLine, from += kLine) {
    const auto* in = reinterpret_cast<const __m128i*>(from);
    auto* out = reinterpret_cast<__m128i*>(to);
    const __m128i a = _mm_loadu_si128(in), b = _mm_loadu_si128(in + 1),
                  c = _mm_loadu_si128(in + 2), d = _mm_loadu_si128(in + 3);
    _mm_stream_si128(out, a);
    _mm_stream_si128(out + 1, b);
    _mm_stream_si128(out + 2, c);
    _mm_stream_si128(out + 3, d);
  }
  _mm_sfence();
}

void stream(std::byte* to, const std::byte* from, size_t bytes) {
  const size_t head = std::min(bytes, -reinterpret_cast<uintptr_t>(to) % kLine);
  std::memcpy(to, from, head);
  const size_t lines = (bytes - head) / kLine, tail = head + lines * kLine;
  std::memcpy(to + tail, from + tail, bytes - tail);
  stream_lines(to + head, from + head, lines);
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
  const uint64_t begin = __rdtsc();
  way == plain ? static_cast<void>(std::memcpy(to, from, bytes)) : stream(to, from, bytes);
  const double cost = static_cast<double>(__rdtsc() - begin) / static_cast<double>(bytes);
  // Of a copy in which something else ran, no more than that it was slow.
  double& known = cost_[way];
  known = known == 0 ? cost : known + (std::min(cost, 8 * known) - known) / 4;
}

}  // namespace tutti::transport
