// SPDX-License-Identifier: BSD-3-Clause
// Why acquire and release do, on any processor (the test weak_orders tries it). A slot's data and signature are plain memory,
// written before the flag that releases them, and read behind the load of that flag that acquires them. They are written again
// when their rank has acquired of each other one that it has left the round, be it from its desk or from its next flag, and that
// is released behind the last look at the slot. Who sleeps is the doorbell's matter, by the fence that stands there.
#include "transport/shared/lane.hpp"

#include <algorithm>

#include "base/log.hpp"

namespace tutti::transport {
namespace {

constexpr uint32_t kNoSerial = ~uint32_t{0};

}  // namespace

size_t LaneGeometry::bytes() const {
  // Two lines a desk.
  return static_cast<size_t>(ranks) * (2 * 64 + windows * slot_bytes);
}

Lane::Lane(std::byte* memory, const LaneGeometry& geometry, int rank, Bells& bells)
    : memory_(memory),
      slots_(memory + static_cast<size_t>(geometry.ranks) * sizeof(Desk)),
      geometry_(geometry),
      rank_(rank),
      bells_(&bells),
      free_until_(geometry.windows),
      seen_left_(static_cast<size_t>(geometry.ranks)),
      left_early_(geometry.windows),
      begun_(2 * geometry.windows + 2) {
  static_assert(sizeof(Desk) == 128 && sizeof(Head) == 16);
  TUTTI_INVARIANT(geometry.windows >= 4 && (geometry.windows & (geometry.windows - 1)) == 0 &&
                      geometry.slot_bytes % 64 == 0 && geometry.head_bytes >= sizeof(Head),
                  "a lane has room for its flags");
}

void Lane::clear(std::byte* memory, const LaneGeometry& geometry) {
  Lane view;
  view.memory_ = memory;
  view.slots_ = memory + static_cast<size_t>(geometry.ranks) * sizeof(Desk);
  view.geometry_ = geometry;
  for (int rank = 0; rank < geometry.ranks; ++rank) {
    view.desk_of(rank).left.store(0, std::memory_order_relaxed);
    view.desk_of(rank).latest.store(0, std::memory_order_relaxed);
    view.desk_of(rank).claiming.store(0, std::memory_order_relaxed);
    for (uint32_t w = 0; w < geometry.windows; ++w) view.head_of(w, rank).flag.store(0, std::memory_order_relaxed);
  }
}

// The latest call that had begun when the round was its or one behind it; nullptr: forgotten, or none.
const Lane::Begun* Lane::begun_with(uint32_t round) const {
  size_t at = latest_;
  do {
    const Begun& call = begun_[at];
    if (call.serial == kNoSerial) return nullptr;
    if (static_cast<int32_t>(round - call.first) >= 0) return &call;
    at = at == 0 ? begun_.size() - 1 : at - 1;
  } while (at != latest_);
  return nullptr;
}

// What another rank has begun, against what I have: where it began a call, I did, after the same ones.
void Lane::compare(uint64_t latest) {
  const auto first = static_cast<uint32_t>(latest >> 32);
  if (latest == 0 || static_cast<int32_t>(first - begun_[latest_].first) > 0) return;  // ahead of me
  const Begun* mine = begun_with(first);
  if (mine && (mine->first != first || mine->history != static_cast<uint32_t>(latest))) contradiction_ = mine->serial;
}

// How many rounds the rank has left.
uint32_t Lane::ask(int rank) {
  const Desk& desk = desk_of(rank);
  compare(desk.latest.load(std::memory_order_relaxed));
  return desk.left.load(std::memory_order_acquire);
}

Lane::Holder Lane::holder(uint32_t round, int rank) const {
  const uint32_t left = desk_of(rank).left.load(std::memory_order_acquire);
  if (rank == rank_ || static_cast<int32_t>(left + geometry_.windows - round) > 0) return {};
  return {true, serial_of(left)};
}

bool Lane::find_free(uint32_t round) {
  const auto find = [&]() TUTTI_ENGINE_OWNED {
    uint32_t least = left_;
    for (int rank = 0; rank < geometry_.ranks; ++rank) {
      if (rank == rank_) continue;
      uint32_t& seen = seen_left_[static_cast<size_t>(rank)];
      if (static_cast<int32_t>(seen + geometry_.windows - round) <= 0) seen = ask(rank);
      if (static_cast<int32_t>(seen - least) < 0) least = seen;
    }
    free_until_ = least + geometry_.windows;
    return static_cast<int32_t>(round - free_until_) < 0;
  };
  bool free = find();
  std::atomic<uint32_t>& claiming = desk_of(0).claiming;
  if (!free && !claiming_) {
    claiming.fetch_add(1, std::memory_order_seq_cst);
    claiming_ = true;
    bells_->waits_for_more();
    free = find();  // what was left meanwhile rang nobody
  }
  if (free && claiming_) {
    claiming.fetch_sub(1, std::memory_order_relaxed);
    claiming_ = false;
  }
  return free;
}

void Lane::leave_out_of_order(uint32_t round) {
  const uint32_t mask = geometry_.windows - 1;
  if (round != left_) {
    left_early_[round & mask] = true;
    ++early_;
    return;
  }
  uint32_t left = left_ + 1;
  for (; early_ > 0 && left_early_[left & mask]; ++left, --early_) left_early_[left & mask] = false;
  tell_left(left);
}

}  // namespace tutti::transport
