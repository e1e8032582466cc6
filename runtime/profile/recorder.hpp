// SPDX-License-Identifier: BSD-3-Clause
// Fills the timeline of this rank (timeline.hpp), of what the profiler has found out. Judges nothing, and reads no clock.
#pragma once

#include <cstdint>

#include "base/engine_owned.hpp"
#include "life/event.hpp"
#include "profile/timeline.hpp"

namespace tutti::profile {

class Recorder {
 public:
  Recorder(Timeline& timeline, int rank, int size) : timeline_(timeline), rank_(rank), size_(size) {}

  // A call is over, which spent its first `span.waited` ticks waiting and the others at `what`. One at a time.
  void add_call(const Span& span, Doing what);
  // A message of the program's was sent, or has met its receive, by this thread.
  void add_message(const life::Event& event, bool is_receive, uint64_t now, uint8_t thread = 0) TUTTI_ENGINE_OWNED;
  // What has been recorded is dropped. One at a time, and events may be heard of meanwhile.
  void start_again(uint64_t now);

 private:
  void add_time(uint64_t from, uint64_t to, Doing what);
  void halve_periods();
  void drop_shorter_half();
  void add_peer(int32_t process, uint64_t bytes) TUTTI_ENGINE_OWNED;
  Flow* flow_of(uint64_t name) TUTTI_ENGINE_OWNED;
  void thin_out_messages() TUTTI_ENGINE_OWNED;

  Timeline& timeline_;
  const int rank_, size_;
};

}  // namespace tutti::profile
