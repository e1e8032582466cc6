// SPDX-License-Identifier: BSD-3-Clause
// How many messages a plan has with each peer so far. Takes memory by the peers that there are, not by all ranks: of a
// million ranks most plans know some dozens, and where a loop goes through all of them they are told at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace tutti::coll {

// first + i * along + j * across for i < row and j < rows: no two are the same.
struct PeerSet {
  int64_t first, along, row, across, rows;

  bool contains(int64_t peer) const {
    for (int64_t j = 0; j < rows; ++j) {
      const int64_t from = peer - first - j * across;
      if (row == 1 ? from == 0 : from % along == 0 && from / along >= 0 && from / along < row) return true;
    }
    return false;
  }
  bool operator==(const PeerSet&) const = default;
};

class PeerCounts {
 public:
  // The number of the next message with `peer`, from 0 on.
  int32_t next(int peer) { return take(peer, 1); }
  // Of the first one of so many.
  int32_t take(int peer, int32_t number) {
    if (2 * (used_ + 1) > places_.size()) grow();
    Place& place = place_of(peer);
    if (place.peer != peer) place = {peer, counted_in_sets(peer)}, ++used_;
    const int32_t first = place.count;
    place.count += number;
    return first;
  }
  // The same of a message with each of these, if it is one number; nothing is counted otherwise, or if that is not known.
  std::optional<int32_t> next_of_each(const PeerSet& peers) {
    for (const Place& place : places_)
      if (place.peer >= 0 && peers.contains(place.peer)) return std::nullopt;
    for (Counted& other : sets_)
      if (other.peers == peers) return other.count++;
    for (const Counted& other : sets_)
      if (reach(other.peers).first <= reach(peers).second && reach(peers).first <= reach(other.peers).second)
        return std::nullopt;
    sets_.push_back({peers, 1});
    return 0;
  }

 private:
  struct Place {
    int32_t peer = -1, count = 0;
  };
  struct Counted {
    PeerSet peers;
    int32_t count;
  };
  static std::pair<int64_t, int64_t> reach(const PeerSet& peers) {
    const int64_t along = peers.along * (peers.row - 1), across = peers.across * (peers.rows - 1);
    return {peers.first + std::min<int64_t>(0, along) + std::min<int64_t>(0, across),
            peers.first + std::max<int64_t>(0, along) + std::max<int64_t>(0, across)};
  }
  int32_t counted_in_sets(int peer) const {
    int32_t count = 0;
    for (const Counted& each : sets_) count += each.peers.contains(peer) ? each.count : 0;
    return count;
  }
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
  std::vector<Counted> sets_;  // none with another, or with a place
};

}  // namespace tutti::coll
