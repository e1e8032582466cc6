// SPDX-License-Identifier: BSD-3-Clause
// Reads the timeline that a rank of this node has left beside its page (profile/timeline.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/data/rank_profile.hpp"
#include "profile/page.hpp"

namespace tutti::launcher {

// From the ticks of a page to nanoseconds: the page has both clocks at two moments. Of a rank that was there for a moment
// only the second one is now, as long as its node has not been started again.
class ProfileClock {
 public:
  explicit ProfileClock(const profile::Page& page);
  int64_t span(uint64_t ticks) const { return static_cast<int64_t>(static_cast<double>(ticks) * each_); }
  int64_t at(uint64_t ticks) const {
    return ticks >= begun_ ? begun_nanoseconds_ + span(ticks - begun_) : begun_nanoseconds_ - span(begun_ - ticks);
  }

 private:
  const uint64_t begun_;
  const int64_t begun_nanoseconds_;
  double each_ = 1;
};

// Of rank `page.rank`; without a period if there is none, or none of this version. Of a large job each rank keeps less, so
// that all of them fit in the launcher's memory. `over`: when the rank ended. `sites`: the places of the page's sites in the profile, -1: it is not there.
ProfileTimeline read_timeline(const std::string& folder, const profile::Page& page, int64_t over,
                              const ProfileClock& clock, const std::vector<int>& sites);

}  // namespace tutti::launcher
