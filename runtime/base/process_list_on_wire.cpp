// SPDX-License-Identifier: BSD-3-Clause
#include "base/process_list_on_wire.hpp"

#include <cstdint>
#include <limits>

namespace tutti {
namespace {

struct Range {
  int32_t first, count, stride;
};

constexpr int64_t kMostNumbers = std::numeric_limits<int32_t>::max();

}  // namespace

void put_list(Bytes& to, const ProcessList& list) {
  uint32_t ranges = 0;
  list.each_range([&](int, int, int) { ++ranges; });
  const bool by_number = ranges * sizeof(Range) > static_cast<size_t>(list.size()) * sizeof(int32_t);
  put(to, by_number);
  put(to, by_number ? static_cast<uint32_t>(list.size()) : ranges);
  list.each_range([&](int first, int count, int stride) {
    if (!by_number) return put(to, Range{first, count, stride});
    for (int i = 0; i < count; ++i) put(to, first + i * stride);
  });
}

std::optional<ProcessList> get_list(std::span<const std::byte>& from) {
  bool by_number = false;
  uint32_t pieces = 0;
  if (!get(from, by_number) || !get(from, pieces)) return {};
  ProcessList::Builder list;
  int64_t size = 0;
  for (uint32_t i = 0; i < pieces; ++i) {
    Range range{0, 1, 1};
    if (by_number ? !get(from, range.first) : !get(from, range)) return {};
    const int64_t last = range.first + (int64_t{range.count} - 1) * range.stride;
    size += range.count;
    if (range.count < 1 || size > kMostNumbers || last < 0 || last > kMostNumbers || range.first < 0) return {};
    list.add_range(range.first, range.count, range.stride);
  }
  return list.take();
}

}  // namespace tutti
