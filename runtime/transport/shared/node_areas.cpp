// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shared/node_areas.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/fault_point.hpp"
#include "base/log.hpp"
#include "transport/shared/doorbell.hpp"

namespace tutti::transport {
namespace {

using cpu::kLine;

constexpr size_t kSmallBytes = size_t{1} << 20;  // of an area; the rest is the large lane's
constexpr size_t kLargeBytes = size_t{8} << 20;
constexpr size_t kBallots = kSmallBytes + kLargeBytes;  // where they begin; the rest is theirs
constexpr uint32_t kSlots = 255;                        // of an owner's contexts; those with later slots have no area

enum class Large : uint32_t { undecided, there, refused };

// Which members of the segment an area is held by, a bit each. With more there are no areas where they may fail.
constexpr int kMostThatFail = 1024;
using Holders = std::array<uint64_t, kMostThatFail / 64>;

// All but the lock is read and written with the lock held. Who holds it may die: an entry is another communicator's with
// the store of its context, and all else of it is written before.
struct Entry {
  uint64_t context;  // 0: free
  Holders holders;
  uint32_t ranks;
  uint32_t released;  // ranks that have let go
  bool settled;       // one has said what its history is
  uint64_t history;
  Large large, ballots;
  // The memory that it has, also for its next owner: bytes; and whether anything has been written there.
  uint32_t small_taken, large_taken, ballots_taken;
  bool small_used, large_used, ballots_used;
};
struct Table {
  std::atomic<uint32_t> lock;
  uint32_t said;  // somebody has told the user that memory is short
  Entry entries[NodeSegment::kAreas];
  // A row for each process whose contexts have been asked for: some of other nodes, too. A row is
  // for ever, so that all ranks see the same when there is none left.
  struct Row {
    uint32_t owner;            // plus one; 0: free
    uint32_t decided[kSlots];  // by slot: the latest generation that was decided about, plus one
  } rows[1];
};
static_assert(offsetof(Table, rows) <= NodeSegment::table_bytes(0) - NodeSegment::kForeignOwners * sizeof(Table::Row));
static_assert(sizeof(Table::Row) == NodeSegment::table_bytes(1) - NodeSegment::table_bytes(0));
static_assert(kSmallBytes + kLargeBytes <= NodeSegment::kAreaBytes);

class Locked {
 public:
  Locked(const NodeSegment& segment, Table& table) : lock_(table.lock, segment.me(), segment.is_gone()) {
    lock_.lock();
  }
  ~Locked() { lock_.unlock(); }
  Locked(const Locked&) = delete;

 private:
  MemberLock lock_;
};

void let_go(Entry& entry, int member) {
  if (member < kMostThatFail) entry.holders[static_cast<size_t>(member) / 64] &= ~(uint64_t{1} << member % 64);
  if (++entry.released == entry.ranks) entry.context = 0;
}

// Those who hold it still have failed.
bool is_left(const NodeSegment& segment, const Entry& entry) {
  if (!segment.is_gone()) return false;
  for (int member = 0; member < segment.members(); ++member)
    if ((entry.holders[static_cast<size_t>(member) / 64] >> member % 64 & 1) && !segment.is_gone()(member))
      return false;
  return true;
}

Table& table_of(const NodeSegment& segment) {
  return *reinterpret_cast<Table*>(segment.area_table());
}

void tell(Table& table, const Error& problem) {
  if (table.said++ == 0) say(Level::note, "some collectives on this node go by messages: {}", problem.message());
}

// Memory for a lane with nothing in it. Of what begins there, `taken` bytes are there already; once
// it is `used`, something else may stand where the flags will be.
bool take(NodeSegment& segment, Table& table, int index, size_t offset, const LaneGeometry& geometry, uint32_t& taken,
          bool& used) {
  if (geometry.bytes() > taken) {
    if (Error e = segment.take_area_memory(index, offset, geometry.bytes())) {
      tell(table, e);
      return false;
    }
    taken = static_cast<uint32_t>(geometry.bytes());
  }
  if (used) Lane::clear(segment.area(index) + offset, geometry);
  used = true;
  return true;
}

class DeskBells final : public Bells {
 public:
  DeskBells(const NodeSegment& segment, const std::vector<int>& members, int rank)
      : Bells(segment.sleepers(), Doorbell::fences()), fence_due_(segment.fence_due()) {
    for (size_t i = 0; i < members.size(); ++i)
      desks_.push_back(static_cast<int>(i) == rank ? nullptr : &segment.desk(members[i]));
  }
  void waits_for_more() override { fence_due_ = true; }

 private:
  void ring(int rank) override {
    if (rank >= 0) {
      if (Desk* desk = desks_[static_cast<size_t>(rank)]) Doorbell::ring_for_flag(*desk);
      return;
    }
    for (Desk* desk : desks_)
      if (desk) Doorbell::ring_for_flag(*desk);
  }
  std::vector<Desk*> desks_;  // by rank; not mine
  bool& fence_due_;
};

class NodeArea final : public Area {
 public:
  NodeArea(std::shared_ptr<NodeSegment> segment, int index, const std::vector<int>& members, int rank, bool read_peers)
      : segment_(std::move(segment)),
        index_(index),
        ranks_(static_cast<int>(members.size())),
        rank_(rank),
        other_(segment_->desk(members[rank == 0 && ranks_ > 1 ? 1 : 0]).known, read_peers && ranks_ > 1),
        bells_(*segment_, members, rank) {
    small_ = Lane(segment_->area(index), small_lane(ranks_), rank, bells_);
  }

  bool settle(uint64_t history) override {
    Table& table = table_of(*segment_);
    const Locked lock(*segment_, table);
    Entry& entry = table.entries[index_];
    if (!std::exchange(entry.settled, true)) entry.history = history;
    return entry.history == history;
  }

  ~NodeArea() override {
    Table& table = table_of(*segment_);
    const Locked lock(*segment_, table);
    let_go(table.entries[index_], segment_->me());
  }

 private:
  void open_large() override {
    const LaneGeometry geometry = large_lane(ranks_);
    Table& table = table_of(*segment_);
    const Locked lock(*segment_, table);
    Entry& entry = table.entries[index_];
    TUTTI_FAULT_POINT("area.opening_large");
    if (entry.large == Large::undecided)
      entry.large = take(*segment_, table, index_, kSmallBytes, geometry, entry.large_taken, entry.large_used)
                        ? Large::there
                        : Large::refused;
    if (entry.large == Large::there) large_ = Lane(segment_->area(index_) + kSmallBytes, geometry, rank_, bells_);
  }

  int64_t find_read_rate() override {
    return segment_->read_rate([this] { return other_.measure_rate(); });
  }

  const std::shared_ptr<NodeSegment> segment_;
  const int index_, ranks_, rank_;
  memory::PeerMemory other_;  // some other rank's
  DeskBells bells_;
};

// The latest generation decided about is this one or a later one.
bool is_decided(uint32_t latest, const AreaKey& key) {
  return latest != 0 && (latest - 1 - key.generation) % key.generations < key.generations / 2;
}

Table::Row* row_of(const NodeSegment& segment, Table& table, int owner) {
  const int rows = segment.members() + NodeSegment::kForeignOwners;
  const auto number = static_cast<uint32_t>(owner) + 1;
  for (Table::Row* row = table.rows; row < table.rows + rows; ++row) {
    if (row->owner == 0) row->owner = number;
    if (row->owner == number) return row;
  }
  return nullptr;
}

int decide(NodeSegment& segment, Table& table, const AreaKey& key, const std::vector<int>& members) {
  const auto ranks = static_cast<int>(members.size());
  const Locked lock(segment, table);
  for (int i = 0; i < NodeSegment::kAreas; ++i)
    if (table.entries[i].context == key.context) return i;
  Table::Row* const row = row_of(segment, table, key.owner);
  if (!row) return -1;
  uint32_t& latest = row->decided[key.slot];
  if (is_decided(latest, key)) return -1;
  latest = key.generation + 1;
  TUTTI_FAULT_POINT("area.deciding");
  for (int i = 0; i < NodeSegment::kAreas; ++i) {
    Entry& entry = table.entries[i];
    if (entry.context != 0 && !is_left(segment, entry)) continue;
    // The first free one is the one most likely to have memory.
    if (!take(segment, table, i, 0, small_lane(ranks), entry.small_taken, entry.small_used)) return -1;
    entry.context = 0;
    entry.ranks = static_cast<uint32_t>(ranks);
    entry.released = 0;
    entry.settled = false;
    entry.large = entry.ballots = Large::undecided;
    entry.holders = {};
    for (const int member : members)
      if (member < kMostThatFail) entry.holders[static_cast<size_t>(member) / 64] |= uint64_t{1} << member % 64;
    TUTTI_FAULT_POINT("area.almost_decided");
    std::atomic_signal_fence(
        std::memory_order_seq_cst);  // the compiler keeps the order in which a death may cut it off
    entry.context = key.context;
    return i;
  }
  return -1;
}

bool take_for_ballots(NodeSegment& segment, Table& table, int index, size_t bytes) {
  Entry& entry = table.entries[index];
  if (bytes > NodeSegment::kAreaBytes - kBallots) return false;
  if (bytes > entry.ballots_taken) {
    if (Error e = segment.take_area_memory(index, kBallots, bytes)) {
      tell(table, e);
      return false;
    }
    entry.ballots_taken = static_cast<uint32_t>(bytes);
  }
  if (entry.ballots_used) std::memset(segment.area(index) + kBallots, 0, bytes);
  entry.ballots_used = true;
  return true;
}

// `each`: bytes of one rank.
LaneGeometry cut(int ranks, size_t each, size_t slot, uint32_t most_windows, size_t head) {
  const auto fit = static_cast<uint32_t>(std::bit_floor((each - 2 * kLine) / slot));
  if (fit < 4) return {};
  return {ranks, std::min(fit, most_windows), slot, head};
}

// Of more ranks a slot has less than 2 KiB, and the fewest windows that there may be: 1.9 KiB of 128 ranks, 0.9 of 256.
LaneGeometry small_lane_of_many(int ranks) {
  constexpr size_t kFewestWindows = 4, kLeast = 4 * kLine;
  const size_t each = kSmallBytes / static_cast<size_t>(ranks);
  if (each < 2 * kLine + kFewestWindows * kLeast) return {};
  const size_t slot = (each - 2 * kLine) / kFewestWindows & -kLine;
  return {ranks, kFewestWindows, slot, 16};
}

}  // namespace

// What fits there needs one flag. The data begin on the flag's line. Of few ranks a slot has some
// KiB; many ranks have more and shorter ones, since where they share cores each round that a root
// may be ahead saves the others a change of processes. Two lines less than a power of two: else all
// flags would compete for the same places of a cache.
LaneGeometry small_lane(int ranks) {
  constexpr int kFew = 4, kMany = 64;
  if (ranks > kMany) return small_lane_of_many(ranks);
  const size_t each = kSmallBytes / 2 / static_cast<size_t>(ranks);
  const uint32_t windows = ranks > kFew ? 32 : 8;
  const size_t slot = std::clamp<size_t>(std::bit_floor(each / windows), 2 << 10, 8 << 10) - 2 * kLine;
  return cut(ranks, each, slot, windows, 16);
}
// Pieces of long messages. With few ranks the slots together are larger than the caches that they
// would otherwise be pulled out of again and again.
LaneGeometry large_lane(int ranks) {
  const size_t each = kLargeBytes / static_cast<size_t>(ranks);
  const size_t data = std::clamp<size_t>(std::bit_floor((each - 2 * kLine) / 8), 4 << 10, 32 << 10);
  return cut(ranks, each, data + kLine, 128, kLine);
}

std::unique_ptr<Area> find_area(const std::shared_ptr<NodeSegment>& segment, const AreaKey& key,
                                const std::vector<int>& members, int rank, bool read_peers) {
  const int ranks = static_cast<int>(members.size());
  if (key.slot >= kSlots || small_lane(ranks).windows == 0 || large_lane(ranks).windows == 0) return nullptr;
  if (segment->is_gone() && segment->members() > kMostThatFail) return nullptr;
  const int index = decide(*segment, table_of(*segment), key, members);
  if (index < 0) return nullptr;
  return std::make_unique<NodeArea>(segment, index, members, rank, read_peers);
}

std::byte* ballot_memory(NodeSegment& segment, const AreaKey& key, size_t bytes) {
  Table& table = table_of(segment);
  const Locked lock(segment, table);
  for (int i = 0; i < NodeSegment::kAreas; ++i) {
    Entry& entry = table.entries[i];
    if (entry.context != key.context) continue;
    if (entry.ballots == Large::undecided)
      entry.ballots = take_for_ballots(segment, table, i, bytes) ? Large::there : Large::refused;
    return entry.ballots == Large::there ? segment.area(i) + kBallots : nullptr;
  }
  return nullptr;
}

void decline_area(NodeSegment& segment, const AreaKey& key) {
  if (key.slot >= kSlots || segment.members() > kMostThatFail) return;
  Table& table = table_of(segment);
  const Locked lock(segment, table);
  for (Entry& entry : table.entries)
    if (entry.context == key.context) return let_go(entry, segment.me());
  Table::Row* const row = row_of(segment, table, key.owner);
  if (row && !is_decided(row->decided[key.slot], key)) row->decided[key.slot] = key.generation + 1;
}

}  // namespace tutti::transport
