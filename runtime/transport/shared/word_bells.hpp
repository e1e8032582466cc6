// SPDX-License-Identifier: BSD-3-Clause
// Wakes ranks of a node that sleep while they wait for a word in memory that they share with this one, other than
// a flag of a lane. Who waits polls the word in each pass of its engine, and once more when it has said that it sleeps;
// so what doorbell.hpp says of records holds of such words.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "transport/shared/doorbell.hpp"
#include "transport/shared/node_segment.hpp"

namespace tutti::transport {

class WordBells {
 public:
  // `members` of the segment; they are called by their places here.
  WordBells(std::shared_ptr<NodeSegment> segment, std::vector<int> members)
      : segment_(std::move(segment)), members_(std::move(members)) {}

  // Of one who is about to wait for a word: the others must have seen that it sleeps before it does.
  void waits() const { segment_->fence_due() = true; }
  // Of one who has written a word, before it looks in shared memory for those who wait for it.
  static void has_written() {
    if (Doorbell::fences()) __sync_synchronize();
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  // And then for each of them.
  void ring_if_asleep(int place) const {
    Doorbell::ring_if_asleep(segment_->desk(members_[static_cast<size_t>(place)]));
  }

 private:
  const std::shared_ptr<NodeSegment> segment_;
  const std::vector<int> members_;
};

}  // namespace tutti::transport
