// SPDX-License-Identifier: BSD-3-Clause
// The memory that is attached to a window (the standard, section 12.2.4): regions, which do not
// overlap, and the spans that those make which touch. Any number of regions costs the same, but for
// a logarithm. Pure.
#pragma once

#include <cstdint>
#include <iterator>
#include <limits>
#include <map>

namespace tutti::rma {

class Attached {
 public:
  using Address = uint64_t;

  // [begin, end). False: it shares bytes with another region.
  bool attach(Address begin, Address end) {
    if (begin == end) {  // no bytes, but it can be detached
      regions_.emplace(begin, end);
      return true;
    }
    auto above = spans_.lower_bound(begin);
    if (above != spans_.end() && above->first < end) return false;
    auto below = above == spans_.begin() ? spans_.end() : std::prev(above);
    if (below != spans_.end() && below->second > begin) return false;
    regions_.emplace(begin, end);
    if (above != spans_.end() && above->first == end) {
      end = above->second;
      spans_.erase(above);
    }
    if (below != spans_.end() && below->second == begin)
      below->second = end;
    else
      spans_.emplace(begin, end);
    return true;
  }

  // The region that was attached last at this address. False: there is none.
  bool detach(Address begin) {
    const auto region = regions_.upper_bound(begin);
    if (region == regions_.begin() || std::prev(region)->first != begin) return false;
    const Address end = std::prev(region)->second;
    regions_.erase(std::prev(region));
    if (begin == end) return true;
    const auto span = std::prev(spans_.upper_bound(begin));
    const Address span_end = span->second;
    if (span->first == begin)
      spans_.erase(span);
    else
      span->second = begin;
    if (end < span_end) spans_.emplace(end, span_end);
    return true;
  }

  // Are all bytes of [begin, end) attached? Addresses in more bits than they have: sums that wrap
  // around are attached nowhere.
  bool holds(__int128 begin, __int128 end) const {
    if (begin >= end) return true;
    if (begin < 0 || end > std::numeric_limits<Address>::max()) return false;
    const auto above = spans_.upper_bound(static_cast<Address>(begin));
    return above != spans_.begin() && end <= std::prev(above)->second;
  }

 private:
  std::multimap<Address, Address> regions_;  // begin and end
  std::map<Address, Address> spans_;         // of regions that touch, none empty
};

}  // namespace tutti::rma
