// SPDX-License-Identifier: BSD-3-Clause
// The memory that the ranks of one node share for their messages: one sparse file with a desk for
// each rank, a ring for each ordered pair and some large ones for whoever needs one for a while.
// Owns the file, its layout and its memory; knows nothing of what travels through the rings.
//
// The file is in /dev/shm, named by the job, where a launcher removes the name if the job is killed
// before all have attached; whoever attaches last does otherwise. Or it has no name at all
// (nameless_file.hpp). Every rank maps the whole file; memory is taken (and known to be there) for
// the desks when a rank attaches and for a ring when its writer opens it. Where something else has
// filled up /dev/shm when a ring is opened, the ring has its memory outside of it
// (spare_memory.hpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "memory/peer_memory.hpp"
#include "transport/shared/member_lock.hpp"
#include "transport/shared/parting.hpp"
#include "transport/shared/ring_memory.hpp"
#include "transport/shared/spare_memory.hpp"

namespace tutti::transport {

// What a rank shows to the others of its node. Zero-filled at first.
struct Desk {
  // Read by whoever sends to this rank; changes only when it falls asleep or wakes, or waits for more.
  enum Asleep : uint32_t { awake, for_records, for_flags };
  alignas(kLine) std::atomic<uint32_t> asleep;  // ring the bell after a record; or a flag, too
  uint32_t bell_length;                         // the bell's abstract socket name
  char bell[24];
  memory::KnownWord known;  // in the rank's own memory

  // Counts the rings that others have opened towards this rank; it polls this.
  alignas(kLine) std::atomic<uint32_t> openings;
  PlaceOfFile spare;                  // what this rank has made, if others shall use it
  std::atomic<int32_t> cpu_plus_one;  // where it was when it yielded; 0: not known
};
static_assert(sizeof(Desk) == 2 * kLine);

class NodeSegment {
 public:
  // `members` ranks share it, mine has index `me` and shows `token`. Errors: no memory left in
  // /dev/shm, a file that is not ours, …
  static Result<std::unique_ptr<NodeSegment>> attach(const std::string& name, int members, int me,
                                                     const uint64_t& token);
  // The same with a file that has no name: one member makes it, the others open it while that one
  // has it. Both: a descriptor, to be attached to; -1 where that is not allowed.
  static int make_file(int members);
  static int open_file(const PlaceOfFile& place, int members);
  static Result<std::unique_ptr<NodeSegment>> attach(int file, int members, int me, const uint64_t& token);
  ~NodeSegment();
  NodeSegment(const NodeSegment&) = delete;

  // True for ever once all members have attached.
  bool complete() const;
  // Removes the name, if it is still there: nobody will attach any more.
  void forget_name() const;

  int members() const { return members_; }
  int me() const { return me_; }
  // Members may fail while the others go on: then this tells who has. Before anybody else does anything here.
  void set_is_gone(IsGone is_gone) { is_gone_ = std::move(is_gone); }
  const IsGone& is_gone() const { return is_gone_; }
  Desk& desk(int member) const;

  // Counts the members whose doorbell is armed for flags (doorbell.hpp).
  std::atomic<uint32_t>& sleepers() const;
  // This member's own, not shared: before it sleeps, the others have to fence, though it has said already
  // that it will (doorbell.hpp).
  bool& fence_due() const { return fence_due_; }
  // Counts their moves from core to core (shared_memory.cpp).
  std::atomic<uint32_t>& moves() const;
  // For all members to leave together.
  void part() const;

  // The ring from one member to another. Its writer opens it; the reader may touch it when
  // is_open(); both ask for it then, not before. Opening takes the memory of the ring back as well,
  // whose opening cannot fail then: whom a message reaches can answer.
  RingMemory& ring(int from, int to) const;
  size_t ring_size() const { return ring_size_; }
  Error open_ring(int from, int to);
  bool is_open(int from, int to) const { return opened(from, to).load(std::memory_order_acquire); }

  // Where there are so many pairs that their own rings are small, one that streams a long message
  // borrows a large ring: its reader, cleared and with memory. -1: none is left, somebody takes
  // memory at this moment, or there is none for it but what rings of their own may need. It is given
  // back when everything has been read.
  static constexpr int kLargeRings = 16;
  static constexpr size_t kLargeRing = 1 << 20;
  bool lends_rings() const { return ring_size_ < kLargeRing; }
  // Else reading a long message is faster than streaming it through a pair's own.
  bool has_wide_rings() const { return ring_size_ >= kLargeRing / 8; }
  bool has_ring_to_lend() const;
  int rings_lent() const;  // at this moment, to whomever
  int borrow_ring();
  void give_ring_back(int index);
  RingMemory& large_ring(int index) const;

  // Bytes a second, 0 or more: what the first member that asked has measured, for all and for ever.
  int64_t read_rate(const std::function<int64_t()>& measure);

  // The areas of communicators (node_areas.hpp). Their table has memory from the start; an area is
  // to be given some before it is touched, which fails where the rings' own might be missing later.
  static constexpr int kAreas = 32;
  static constexpr size_t kAreaBytes = 10 << 20;
  static constexpr int kForeignOwners = 16;  // processes of other nodes that it has room for
  static constexpr size_t table_bytes(int members) {
    return 8192 + static_cast<size_t>(members + kForeignOwners) * 1024;
  }
  std::byte* area_table() const;
  std::byte* area(int index) const;
  Error take_area_memory(int index, size_t offset, size_t bytes);

 private:
  NodeSegment(std::string path, int members, int me, int descriptor, std::byte* base, size_t size);
  static Result<std::unique_ptr<NodeSegment>> attach(int file, const std::string& path, int members, int me,
                                                     const uint64_t& token);
  size_t rings_to_come() const;
  bool has_memory(int large_ring) const;
  MemberLock taking() const;
  Error take_beside_rings(const void* memory, size_t bytes);
  size_t place_of_ring(int from, int to) const;
  void hold_spare(int me);
  Error find_home(int one, int other);
  struct Head;
  Head& head() const;
  std::atomic<uint8_t>& opened(int from, int to) const;
  enum class Home : uint8_t;
  std::atomic<Home>& home(int one, int other) const;

  const std::string path_;  // empty: none
  const int members_, me_;
  const size_t ring_size_;
  const int descriptor_;
  std::byte* const base_;
  const size_t size_;
  std::unique_ptr<SpareMemory> spare_;  // for all rings; nullptr: not to be had
  IsGone is_gone_;
  mutable bool fence_due_ = false;
  bool no_more_memory_ = false;  // for large rings: was asked for in vain
};

}  // namespace tutti::transport
