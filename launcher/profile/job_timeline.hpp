// SPDX-License-Identifier: BSD-3-Clause
// The timelines of a job's ranks as one: by one clock, with the two ends of messages brought together, the waiting of
// collectives told, and the critical path through all of it. Pure; what the page for a browser and the trace are made of.
// Times are nanoseconds since the job's begin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "launcher/data/rank_profile.hpp"
#include "launcher/profile/profile_meetings.hpp"

namespace tutti::launcher {

struct TimelinePlace {
  std::string function, place, region;
};

struct TimelineSpan {
  int place = 0;
  int64_t begun = 0, over = 0, waited = 0;
  int64_t waits_to = 0;  // when what it waited for came; meaningless if it has not waited
  int process = -1;      // whom it waited for; -1: not known
  int kind = 0;          // why, as ProfileSums counts
  int thread = 0;        // of its rank
};

struct TimelineRank {
  int rank = 0, node = 0;
  int64_t begun = 0, over = 0;
  std::vector<TimelineSpan> spans;  // in order of time
  int64_t period = 0;
  std::vector<std::vector<int64_t>> spent;  // RankProfile's; waiting in collectives counts as waiting
};

struct TimelineMessage {
  size_t from = 0, to = 0;  // among the ranks
  int64_t sent = 0, received = 0, bytes = 0;
  int tag = 0;
  int sent_by = 0, seen_by = 0;  // threads: that sent it, and that saw it meet its receive
};

// On the longest chain of what had to be done before the next thing could be.
struct PathPiece {
  size_t rank = 0;  // among the ranks
  int64_t from = 0, to = 0;
  int place = -1;  // the call that it is in; -1: it computes
};

struct JobTimeline {
  int64_t begun = 0;  // by the first node's clock
  int64_t length = 0;
  int64_t least = 0;   // all calls that lasted longer are among the spans
  uint32_t every = 1;  // of the messages about one in so many is here
  uint64_t unnamed_messages = 0;
  std::vector<TimelinePlace> places;
  std::vector<TimelineRank> ranks;
  std::vector<TimelineMessage> messages;  // by the time when they were sent
  std::vector<Meeting> meetings;          // times as all others here
  int64_t clock_error = -1;               // NodeClocks::error()
  size_t unknown_clocks = 0;              // NodeClocks::unknown()
};

// Without ranks if none of them has kept a timeline.
JobTimeline job_timeline(const std::vector<RankProfile>& ranks);

// From the end of the rank that ends last back to the job's begin: where a rank waited for another one the path goes on at
// that one. Of what was not kept it knows nothing, and stays at its rank. In order of time.
std::vector<PathPiece> critical_path(const JobTimeline& timeline);

}  // namespace tutti::launcher
