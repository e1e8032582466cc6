// SPDX-License-Identifier: BSD-3-Clause
// An area: what the ranks of one communicator share in their node's memory for collectives. Two
// lanes, a small one from the start and a large one from its first use on.
#pragma once

#include "transport/shared/lane.hpp"

namespace tutti::transport {

class Area {
 public:
  virtual ~Area() = default;
  Area(const Area&) = delete;

  // Of rank 0's context, all over the same: slots for what fits into a few lines.
  Lane& small() { return small_; }
  // Whether there is memory for the large lane: the same answer on all ranks, and for ever. The
  // first one to ask finds out.
  bool has_large() {
    if (!asked_) [[unlikely]] {
      asked_ = true;
      open_large();
    }
    return large_.exists();
  }
  Lane& large() { return large_; }  // if has_large()
  // Bytes a second at which the kernel reads another process's memory on this node; 0: it may not,
  // or shall not. The same answer on all ranks, and for ever. The first one to ask measures.
  int64_t read_rate() {
    if (read_rate_ < 0) [[unlikely]]
      read_rate_ = find_read_rate();
    return read_rate_;
  }

  // At the end, once on each rank: false if another rank's history is not this one.
  virtual bool settle(uint64_t history) = 0;

 protected:
  Area() = default;
  virtual void open_large() = 0;  // makes large_, or leaves it
  virtual int64_t find_read_rate() = 0;

  Lane small_, large_;

 private:
  bool asked_ = false;
  int64_t read_rate_ = -1;
};

// How the lanes of `ranks` ranks are cut: 0 windows where there are too many ranks for it.
LaneGeometry small_lane(int ranks);
LaneGeometry large_lane(int ranks);

}  // namespace tutti::transport
