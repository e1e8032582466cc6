// SPDX-License-Identifier: BSD-3-Clause
// Recursive halving with the nearest partner first: the first half of Rabenseifner's reductions.
// Because near places meet first, what a place has reduced is always a run of neighbours, so that
// operands of an operation that does not commute keep their order.
#pragma once

#include <vector>

#include "coll/exchange.hpp"

namespace tutti::coll {

// How place `place` of `width` narrows [0, parts) to the part numbered reversed(place): ranges[k]
// is what it works on before round k, and ranges.back() what is left.
//
//   4 places:  0: [0,4) [0,2) [0,1)    1: [0,4) [2,4) [2,3)
//              2: [0,4) [0,2) [1,2)    3: [0,4) [2,4) [3,4)
inline std::vector<Range> halving_ranges(int place, int width) {
  std::vector<Range> ranges{{0, width}};
  for (int bit = 1; bit < width; bit <<= 1) {
    const Range r = ranges.back();
    const int64_t middle = (r.begin + r.end) / 2;
    ranges.push_back(place & bit ? Range{middle, r.end} : Range{r.begin, middle});
  }
  return ranges;
}

// The half of `before` that is not `kept`.
inline Range other_half(const Range& before, const Range& kept) {
  return kept.begin == before.begin ? Range{kept.end, before.end} : Range{before.begin, kept.begin};
}

// The first `ranges.size() - 1` rounds: every place ends with its range of parts reduced over all those that it has met
// by then, in vector.acc; with a single part, if these are all rounds. `elements(range)` gives the elements of a run of
// parts.
template <class Elements>
void reduce_by_halving(Accumulator& vector, const Fold& fold, const std::vector<Range>& ranges, Elements&& elements) {
  for (size_t round = 0; round + 1 < ranges.size(); ++round) {
    const Range keep = elements(ranges[round + 1]);
    const Range give = elements(other_half(ranges[round], ranges[round + 1]));
    const int peer = fold.peer(1 << round);
    vector.plan.recv(vector.incoming.slice(keep.begin, keep.size()), peer)
        .send(vector.acc.slice(give.begin, give.size()), peer);
    vector.absorb(peer, keep.begin, keep.size());
  }
}

}  // namespace tutti::coll
