// SPDX-License-Identifier: BSD-3-Clause
// How many messages a plan has with each peer so far. Takes memory by the peers that there are, not by all ranks: of a
// million ranks most plans know some dozens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::coll {

class PeerCounts {
 public:
  // The number of the next message with `peer`, from 0 on.
  int32_t next(int peer) {
    if (2 * (used_ + 1) > places_.size()) grow();
    Place& place = place_of(peer);
    if (place.peer != peer) place.peer = peer, ++used_;
    return place.count++;
  }

 private:
  struct Place {
    int32_t peer = -1, count = 0;
  };
  // Where the peer stands, or may stand.
  Place& place_of(int peer) {
    const size_t mask = places_.size() - 1;
    size_t at = (static_cast<uint32_t>(peer) * uint64_t{0x9e3779b97f4a7c15} >> 32) & mask;
    while (places_[at].peer >= 0 && places_[at].peer != peer) at = (at + 1) & mask;
    return places_[at];
  }
  void grow() {
    std::vector<Place> old(places_.empty() ? 16 : 2 * places_.size());
    old.swap(places_);
    for (const Place& place : old)
      if (place.peer >= 0) place_of(place.peer) = place;
  }

  std::vector<Place> places_;  // a power of two of them, at most half of them used
  size_t used_ = 0;
};

}  // namespace tutti::coll
