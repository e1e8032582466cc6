// SPDX-License-Identifier: BSD-3-Clause
// Seat: the processor on which this rank waits, where there are more ranks than cores: it moves to where there is more
// room. Owns what its desk says of that; what a better one is, is told by transport/shared/spread.hpp.
#pragma once

#include <chrono>
#include <vector>

#include "transport/shared/doorbell.hpp"
#include "transport/shared/node_segment.hpp"

namespace tutti::transport {

class Seat {
 public:
  // `me`: my index among the `members` processes of the node.
  Seat(NodeSegment& segment, int me, int members);
  ~Seat();
  Seat(const Seat&) = delete;

  // Transport::spread().
  void spread();

 private:
  void move(int here, int there);
  void say_place(int cpu);

  NodeSegment& segment_;
  const int me_, members_;
  Desk& desk_;                                          // mine
  std::chrono::steady_clock::time_point moves_from_{};  // the next move is not before this
  bool has_place_ = false;                              // the first one
  std::vector<int> others_, allowed_;                   // spread()'s; nothing is allocated while it waits
};

}  // namespace tutti::transport
