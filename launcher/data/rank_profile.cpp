// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/data/rank_profile.hpp"

#include <algorithm>

namespace tutti::launcher {

bool is_sound(const RankProfile& profile) {
  const auto sites = static_cast<int>(profile.sites.size());
  const ProfileTimeline& timeline = profile.timeline;
  if (timeline.period < 0 || timeline.every == 0 ||
      !std::ranges::all_of(
          timeline.spans, [sites](const ProfileSpan& each) { return each.site >= 0 && each.site < sites; }))
    return false;
  return profile.rank >= 0 && profile.rank < profile.size && profile.every > 0 && profile.open_site >= -1 &&
         profile.open_site < sites &&
         std::ranges::all_of(
             profile.collectives,
             [sites](const ProfileCollective& each) { return each.site >= 0 && each.site < sites; });
}

}  // namespace tutti::launcher
