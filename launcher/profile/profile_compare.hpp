// SPDX-License-Identifier: BSD-3-Clause
// What became slower between profiles of a program, by place, and what of that is noise. Pure.
//
// How much the mean time of a call at a place is uncertain is found from the batches of calls in a row that each rank keeps:
// calls that follow each other are often alike, batches of many are not. Ranks that wait for each other share their
// troubles, so their uncertainties are added, not averaged. Where a side has several runs, how these differ counts, too, and
// the larger one holds. A difference is told as such beyond what chance makes in one of twenty places, and beyond a hundredth.
#pragma once

#include <string>
#include <vector>

#include "launcher/data/rank_profile.hpp"

namespace tutti::launcher {

using JobProfile = std::vector<RankProfile>;

// The mean time of a call at a place, over the runs of one side.
struct PlaceMean {
  double calls = 0, time = 0, waiting = 0;  // of a run, nanoseconds, all ranks
  double mean = 0;                          // of a call
  double error = -1;                        // standard error of `mean`; below 0: too few calls
  int freedom = 0;                          // of the estimate of `error`
};

enum class Verdict { slower, faster, noise, too_few, only_before, only_now };

struct PlaceChange {
  std::string function, place, region;  // the place as it is now, if it is
  PlaceMean before, now;
  double noise = 0;  // nanoseconds a call that chance explains
  Verdict verdict = Verdict::noise;
  double change() const { return now.time - before.time; }
};

// The largest change first. A place whose line has moved is found by its function and file, and what it calls.
std::vector<PlaceChange> changes_of(const std::vector<JobProfile>& before, const std::vector<JobProfile>& now);
std::string comparison_page(const std::vector<JobProfile>& before, const std::vector<JobProfile>& now);

}  // namespace tutti::launcher
