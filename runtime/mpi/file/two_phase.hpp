// SPDX-License-Identifier: BSD-3-Clause
// Collective access in two phases: some ranks, the aggregators, each own a part of the file's range
// that is accessed, and move it in large pieces; the ranks exchange with them what belongs into
// each part. It wins where the ranks' pieces are small and lie between each other's. Everybody
// knows everybody's view, so that both sides count alike, and no list of offsets is made of a whole
// access, nor does one travel.
//
//   rank 0's pieces  a.....a.....a.....     part of aggregator 0  abcabcabc
//   rank 1's         ..b.....b.....b...     part of aggregator 1  abcabcabc
//   rank 2's         ....c.....c.....c.
//
// A part is moved in windows of cb_buffer_size, one exchange for each. Aggregators read the next
// window, or write the last one, while the ranks exchange the present one.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.hpp"
#include "io/worker_pool.hpp"
#include "mpi/file/domains.hpp"
#include "mpi/file/together.hpp"

namespace tutti::mpi::file {

class TwoPhases {
 public:
  // `overlaps`: threads of the pool may move bytes of the file meanwhile.
  TwoPhases(const PlacedAccess& job, const std::vector<Contribution>& shares, const std::vector<io::View>& views,
            bool overlaps);
  ~TwoPhases();
  TwoPhases(const TwoPhases&) = delete;

  // The next window's exchange; nullptr: there is none left, and the file has what belongs to it.
  const coll::Call* next();
  // The first error of this rank's own reads and writes, after that.
  Error take_error() { return std::move(error_); }
  int64_t bytes() const { return domains_.length_of(job_.file->rank()); }

 private:
  // A window of each aggregator, and what this rank has to do with them. There are two at a time.
  struct DomainWindows {
    Domains::Piece here{};               // that of this aggregator
    std::vector<Domains::Range> parts;   // of this rank's data, by aggregator
    std::vector<Domains::Range> theirs;  // of each rank's data, what lies in `here`
    std::vector<int64_t> mine, mine_at, other,
        other_at;  // counts and places of the exchange, by rank
    io::Stage stage, packed, buffer;
    int64_t packed_bytes = 0;  // of them
    Error error;
  };

  void take_stages();
  void enter(DomainWindows& window, int64_t round) const;
  // Between my memory and the aggregators': directly where it has no gaps.
  bool direct() const { return memory_.contiguous(); }
  std::byte* own_side(DomainWindows& window) const;
  const coll::Call* exchange(DomainWindows& window, bool to_aggregators);
  template <class Visit>
  Error each_piece(const DomainWindows& window, Visit&& visit) const;
  void pack(DomainWindows& window) const;
  void unpack(const DomainWindows& window) const;
  void store(DomainWindows& window) const;
  void load(DomainWindows& window) const;
  const coll::Call* next_written();
  const coll::Call* next_read();
  // Has a window's bytes moved, by this thread or by one of the pool; and waits for that.
  void begin(DomainWindows& window);
  void finish(DomainWindows& window);
  bool& busy(const DomainWindows& window) TUTTI_REQUIRES(mutex_) { return busy_[&window - windows_]; }

  const PlacedAccess& job_;
  const std::vector<Contribution>& shares_;
  const std::vector<io::View>& views_;
  const Domains domains_;
  const Payload memory_;
  const bool overlaps_;
  int64_t round_ = -1;  // whose exchange is made now
  DomainWindows windows_[2];
  coll::Call call_;
  Error error_;
  Mutex mutex_;
  ConditionVariable moved_;
  bool busy_[2] TUTTI_GUARDED_BY(mutex_) = {};  // by window: a thread of the pool is at it
  std::shared_ptr<io::Queue> queue_;
};

}  // namespace tutti::mpi::file
