// SPDX-License-Identifier: BSD-3-Clause
// Which bytes of one process' memory operations access that are not ordered among each other, and which two of
// these the standard does not let meet (12.3, 12.7): a put or an accumulate and anything else, but for accumulates
// of one type and operation. Pure; for --check=strict. What does not fit within the bound is not recorded: then a
// conflict may be overlooked, and none is made up.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "rma/operation.hpp"

namespace tutti::rma {

enum class Conflict : uint8_t { none, undefined, types, operations, elements };

// Of two on the same bytes. `ordered`: both are of one origin, whose accumulates are carried out one after the other
// (12.7.2), of whatever operation. `alone`: the window promises one operation without MPI_NO_OP beside it
// (accumulate_ops is same_op).
Conflict conflict_of(const Act& one, const Act& other, bool ordered, bool alone);

// Bytes [low, high), from the start of the window's part, or addresses.
struct Interval {
  int64_t low = 0, high = 0;
};
// The runs of `count` elements, the first ones within the bound.
std::vector<Interval> intervals_of(int64_t displacement, int64_t count, const Layout& layout);

// Do some of them share bytes?
bool overlap(std::vector<Interval> intervals);

class Accesses {
 public:
  static constexpr size_t kMost = 4096;

  struct Access {
    Act act;
    int origin = 0;
    uint8_t epoch = 0;            // only those of one epoch are compared
    uint32_t site = 0;            // the call, as its origin counts its calls
    const void* owner = nullptr;  // the request
    int64_t grain = 0;            // bytes of an element of an update, from one to the next; 0: of such with gaps
    uint32_t barrier = 0;         // that its origin had left last when it started it, if it had heard of nobody since
    bool operator==(const Access& other) const;
  };
  struct Met {
    Interval bytes;
    Access other;
    Conflict conflict;
  };

  // The first that is in conflict with `access`: among those of its own origin, or of the others.
  std::optional<Met> conflict(const std::vector<Interval>& bytes, const Access& access, bool own, bool alone) const;
  // The first one in the epoch that changes bytes, and is of others than `but`; `reads`: or only reads them.
  std::optional<Met> of_others(Interval bytes, uint8_t epoch, int but, bool reads) const;
  void add(const std::vector<Interval>& bytes, const Access& access);
  template <class Predicate>
  void drop(Predicate&& over) {
    if (all_.empty()) return;
    std::erase_if(all_, [&](const auto& each) { return over(each.second.second); });
    if (all_.empty()) longest_ = 0;
  }
  // By the first byte.
  template <class Visit>
  void each(Visit&& visit) const {
    for (const auto& [low, rest] : all_) visit(Interval{low, rest.first}, rest.second);
  }
  size_t size() const { return all_.size(); }

 private:
  // By the first byte: the end, and whose it is.
  using Map = std::multimap<int64_t, std::pair<int64_t, Access>>;
  template <class Visit>
  void each_at(Interval bytes, Visit&& visit) const;

  Map all_;
  int64_t longest_ = 0;  // of those in all_, or more
};

}  // namespace tutti::rma
